package webhook

import (
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	podinfoVolume = "podinfo" // the pod's annotations, where CPU Pooler's process starter reads them
	podinfoPath   = "/etc/podinfo"
	hostVolume    = "hostbin"
	hostFolder    = "/opt/bin" // of nrdctl
	listFile      = "cpus"     // the annotation alone
)

// starter changes containers so that they start the processes of the annotation, each on its own CPUs.
type starter struct {
	rules Rules
	patch *Patch
	pod   *corev1.Pod

	volumes    *list
	hasVolumes bool
	variables  map[string]*list // by the container's path
}

// inject sets command, variable and mounts. isOld: the processes are supervised, as CPU Pooler 0.1 did it; otherwise the
// last one takes the place of the starter.
func (s *starter) inject(each *target, isOld bool) error {
	if err := s.addVolumes(); err != nil {
		return err
	}
	mounts := &list{s.patch, each.path + "/volumeMounts", len(each.VolumeMounts)}
	host := hostFolder
	if s.rules.Starter != "" {
		host = s.rules.Starter
	}
	for _, mount := range []corev1.VolumeMount{{Name: podinfoVolume, MountPath: podinfoPath, ReadOnly: true}, {Name: hostVolume, MountPath: host, ReadOnly: true}} {
		isThere, err := hasMount(each, mount)
		if err != nil {
			return err
		}
		if !isThere {
			mounts.append(mount)
		}
	}
	s.setVariable(each, "CONTAINER_NAME", each.Name)
	s.setCommand(each, isOld)
	return nil
}

// setCommand leaves a pod alone that was changed before, such as one that is created again from what the API server has.
func (s *starter) setCommand(each *target, isOld bool) {
	command, arguments := s.command(each, isOld)
	if len(each.Command) > 0 && each.Command[0] == command[0] {
		return
	}
	s.patch.set(each.path+"/command", command)
	switch {
	case len(arguments) > 0:
		s.patch.set(each.path+"/args", arguments)
	case len(each.Args) > 0:
		s.patch.remove(each.path + "/args")
	}
}

func (s *starter) command(each *target, isOld bool) (command, arguments []string) {
	if s.rules.Starter != "" {
		if isOld {
			return []string{s.rules.Starter}, nil
		}
		return []string{s.rules.Starter}, slices.Concat(each.Command, each.Args)
	}
	command = []string{path.Join(hostFolder, "nrdctl"), "run", "--processes", path.Join(podinfoPath, listFile)}
	if !isOld {
		command = append(command, "--exec-last")
	}
	return command, nil
}

func (s *starter) addVolumes() error {
	if s.hasVolumes {
		return nil
	}
	s.hasVolumes = true
	s.volumes = &list{s.patch, "/spec/volumes", len(s.pod.Spec.Volumes)}
	field := func(key string) map[string]any { return map[string]any{"fieldRef": map[string]any{"fieldPath": key}} }
	all, alone := field("metadata.annotations"), field("metadata.annotations['"+s.rules.Base+"/cpus']")
	all["path"], alone["path"] = "annotations", listFile
	podinfo := map[string]any{"downwardAPI": map[string]any{"items": []any{all, alone}}}
	host := map[string]any{"hostPath": map[string]any{"path": hostFolder, "type": "Directory"}}
	if s.rules.Starter != "" {
		host = map[string]any{"hostPath": map[string]any{"path": s.rules.Starter, "type": "File"}}
	}
	for _, each := range []struct {
		name   string
		source map[string]any
		isSame func(corev1.VolumeSource) bool
	}{
		{podinfoVolume, podinfo, func(found corev1.VolumeSource) bool { return found.DownwardAPI != nil }},
		{hostVolume, host, func(found corev1.VolumeSource) bool { return found.HostPath != nil }},
	} {
		index := slices.IndexFunc(s.pod.Spec.Volumes, func(volume corev1.Volume) bool { return volume.Name == each.name })
		if index < 0 {
			each.source["name"] = each.name
			s.volumes.append(each.source)
		} else if !each.isSame(s.pod.Spec.Volumes[index].VolumeSource) {
			return fmt.Errorf("/spec/volumes/%d/name: %q is the name of a volume that the annotation %s/cpus needs; expected another name",
				index, each.name, s.rules.Base)
		}
	}
	return nil
}

func hasMount(each *target, wanted corev1.VolumeMount) (bool, error) {
	for i, mount := range each.VolumeMounts {
		if path.Clean(mount.MountPath) != wanted.MountPath {
			continue
		}
		if mount.Name == wanted.Name {
			return true, nil
		}
		return false, fmt.Errorf("%s/volumeMounts/%d/mountPath: %s is where the process starter reads; expected another path",
			each.path, i, wanted.MountPath)
	}
	return false, nil
}

// setVariable replaces what the pod's author set.
func (s *starter) setVariable(each *target, name, value string) {
	variable := map[string]any{"name": name, "value": value}
	variables, isKnown := s.variables[each.path]
	if !isKnown {
		variables = &list{s.patch, each.path + "/env", len(each.Env)}
		if s.variables == nil {
			s.variables = map[string]*list{}
		}
		s.variables[each.path] = variables
	}
	isThere := false
	for i, found := range each.Env {
		if found.Name != name {
			continue
		}
		isThere = true
		if found.Value != value || found.ValueFrom != nil {
			variables.replace(i, variable)
		}
	}
	if !isThere {
		variables.append(variable)
	}
}
