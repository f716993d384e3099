// Package image writes an OCI image archive that has one program and nothing else, so that no container tool is needed
// to build one.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// blobs of an image by digest, in the order in which they were made.
type blobs struct {
	contents map[string][]byte
	order    []string
}

func (b *blobs) add(content []byte, mediaType string) descriptor {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	b.contents[digest] = content
	b.order = append(b.order, digest)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: len(content)}
}

// Write makes the archive at path, with the program as /nrd-kube and entry point. The same program gives the same bytes.
func Write(path, program, name, tag string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	archive, err := build(content, name, tag)
	if err != nil {
		return err
	}
	// Another name first, so that an interrupted run leaves no half archive.
	unfinished, err := os.CreateTemp(filepath.Dir(path), ".nrd-kube-image-")
	if err != nil {
		return err
	}
	defer os.Remove(unfinished.Name())
	defer unfinished.Close()
	if _, err := unfinished.Write(archive); err != nil {
		return err
	}
	if err := unfinished.Chmod(0o644); err != nil {
		return err
	}
	if err := unfinished.Sync(); err != nil {
		return err
	}
	return os.Rename(unfinished.Name(), path)
}

func build(program []byte, name, tag string) ([]byte, error) {
	raw, err := layer(program)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	compressor := gzip.NewWriter(&packed)
	if _, err := compressor.Write(raw); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	all := &blobs{contents: map[string][]byte{}}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/nrd-kube"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeManifest,
		"config": all.add(config, typeConfig), "layers": []descriptor{all.add(packed.Bytes(), typeLayer)}})
	if err != nil {
		return nil, err
	}
	described := all.add(manifest, typeManifest)
	described.Annotations = map[string]string{"io.containerd.image.name": name + ":" + tag, "org.opencontainers.image.ref.name": tag}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{described}})
	if err != nil {
		return nil, err
	}
	return archive(all, index)
}

func layer(program []byte) ([]byte, error) {
	var memory bytes.Buffer
	writer := tar.NewWriter(&memory)
	if err := writeFile(writer, "nrd-kube", program, 0o755); err != nil {
		return nil, err
	}
	err := writer.Close()
	return memory.Bytes(), err
}

func archive(all *blobs, index []byte) ([]byte, error) {
	var memory bytes.Buffer
	writer := tar.NewWriter(&memory)
	if err := writeFile(writer, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644); err != nil {
		return nil, err
	}
	if err := writeFile(writer, "index.json", index, 0o644); err != nil {
		return nil, err
	}
	for _, digest := range all.order {
		if err := writeFile(writer, "blobs/sha256/"+digest, all.contents[digest], 0o644); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return memory.Bytes(), err
}

func writeFile(writer *tar.Writer, name string, content []byte, mode int64) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: mode}
	if err := writer.WriteHeader(header); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err := io.Copy(writer, bytes.NewReader(content))
	return err
}
