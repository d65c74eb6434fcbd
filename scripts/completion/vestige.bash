# SPDX-License-Identifier: MIT
# Completion of vestige's commands, flags and their values for bash.
_vestige()
{
	local line cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD}")

	# bash splits words at : and =, vestige does not
	if declare -F _get_comp_words_by_ref >/dev/null; then
		local cword
		_get_comp_words_by_ref -n := cur words cword
		words=("${words[@]:1:cword}")
	fi
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:file | :command) compopt -o default ;;
		:folder) compopt -o dirnames ;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <(vestige --complete "${words[@]}" 2>/dev/null)
	declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
	return 0
}
complete -F _vestige vestige
