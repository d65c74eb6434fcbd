# SPDX-License-Identifier: MIT
# Completion of vestige's commands, flags and their values for fish.
function __vestige_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (vestige --complete $words[2..-1] 2>/dev/null)
        switch $line
            case :file :command
                __fish_complete_path (commandline -ct)
            case :folder
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c vestige -f -a '(__vestige_complete)'
