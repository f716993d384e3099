# fish completion for nrdctl: the candidates come from nrdctl itself.
complete -c nrdctl -a '(nrdctl __complete -- (commandline -opc)[2..] (commandline -ct) 2> /dev/null)'
