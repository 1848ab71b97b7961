# bash completion for tangc, made by tangc --generate=bash
_tangc() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words
  if [[ $cur == = ]]; then cur=
  elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  case $prev in
    -t|--target) COMPREPLY=($(compgen -W "$(tangc targets --json 2>/dev/null | sed -n 's/^  "\(.*\)": {/\1/p')" -- "$cur")); return ;;
    -O) COMPREPLY=($(compgen -W '0 1 2 3' -- "$cur")); return ;;
    -o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    -d|--directory) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    --emit) COMPREPLY=($(compgen -W 'source header report tg graph schedule spec test html launcher cmake' -- "$cur")); return ;;
    --split) COMPREPLY=($(compgen -W 'none kernel' -- "$cur")); return ;;
    --embed) COMPREPLY=($(compgen -W 'c-array' -- "$cur")); return ;;
    --checks) COMPREPLY=($(compgen -W 'full cheap none' -- "$cur")); return ;;
    --index-bits) COMPREPLY=($(compgen -W 'auto 32 64' -- "$cur")); return ;;
    --schedule) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --tune) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --atomics) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --precision) COMPREPLY=($(compgen -W 'native exact' -- "$cur")); return ;;
    -MF) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    -o) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    --compiler) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --measured) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    -o) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --diagnostics-format) COMPREPLY=($(compgen -W 'gcc msvc json sarif' -- "$cur")); return ;;
    --color) COMPREPLY=($(compgen -W 'auto always never' -- "$cur")); return ;;
    --time-report) COMPREPLY=($(compgen -W 'text json' -- "$cur")); return ;;
    --dump-dir) COMPREPLY=($(compgen -d -- "$cur")); return ;;
  esac
  case ${COMP_WORDS[1]} in
    check) words='-D --dim= -h --help -W -w --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet --time-report' ;;
    fmt) words='-h --help --check --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet' ;;
    run) words='-D --dim= -h --help --input= --random= --emulate --f64 -o -W -w --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet --time-report' ;;
    verify) words='-t --target= -O -D --dim= -j --jobs= -h --help --index-bits= --specialize= --schedule= --tune= --atomics= --precision= --allow-tf32 --error-budget= --fast-math --batch-invariant --random= --compiler= -W -w --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet --time-report --dump= --dump-dir=' ;;
    targets) words='-h --help --json --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet' ;;
    explain) words='-h --help --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet' ;;
    report) words='-h --help --html --measured= -o --require-sol= --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet' ;;
    layout) words='-h --help --table --svg --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet' ;;
    *) words='-t --target= -O -D --dim= -j --jobs= -h --help --version -o -d --directory= --emit= --prefix= --split= --embed= --checks= --index-bits= --print-outputs --write-if-changed --specialize= --schedule= --tune= --atomics= --explain-atoms --precision= --allow-tf32 --error-budget= --fast-math --batch-invariant -MD -M -MF -MT -MQ -MP -W -w --max-errors= --diagnostics-format= --color= -v --verbose -q --quiet --time-report --dump= --dump-dir=' ;;
  esac
  if [[ $COMP_CWORD == 1 ]]; then words+=' check fmt run verify targets explain report layout'; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur") $(compgen -f -- "$cur"))
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o filenames -F _tangc tangc
