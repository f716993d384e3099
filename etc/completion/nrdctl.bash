# bash completion for nrdctl: the candidates come from nrdctl itself.
_nrdctl() {
  local line=${COMP_LINE:0:COMP_POINT} word words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[-1]}
  local IFS=$'\n'
  COMPREPLY=($(nrdctl __complete -- "${words[@]:1}" 2> /dev/null))
  # bash replaces only what follows the last ":" or "=".
  COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[:=]}"}"}")
}
complete -o default -F _nrdctl nrdctl
