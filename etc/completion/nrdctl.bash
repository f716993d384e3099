# bash completion for nrdctl: the candidates come from nrdctl itself.
_nrdctl() {
  local IFS=$'\n'
  COMPREPLY=($(nrdctl __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
}
complete -o default -F _nrdctl nrdctl
