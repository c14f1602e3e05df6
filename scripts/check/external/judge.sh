# shellcheck shell=bash
# Sourced by the scripts of this folder, which define usage. It goes to the root of the repository, and
# sets $root, $judges (this folder), $cache (for tools) and $tmp (removed at the end).

judge=scripts/check/external/$(basename "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
root=$PWD judges=$PWD/scripts/check/external
cache=${XDG_CACHE_HOME:-$HOME/.cache}/growth-workspace/judges
mkdir -p "$cache"
tmp=$(mktemp -d)

served=''        # set once serve has run
processes=()     # ids of the processes that finish stops
finish() {
  local id
  for id in "${processes[@]}"; do { kill "$id" && wait "$id"; } 2>/dev/null || true; done
  chmod -R u+w "$tmp" 2>/dev/null || true # Go's module cache is read-only
  rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

choose() { # choose STEPS DEFAULT ARGUMENT...: sets $steps to the arguments, or without any to the default
  local known=" $1 " default=$2 argument
  shift 2
  steps=()
  for argument; do
    case "$argument" in -h | --help | help) usage; exit 0 ;; esac
    [[ $known == *" $argument "* ]] || { echo "$judge: unknown argument '$argument'" >&2; usage >&2; exit 2; }
    steps+=("$argument")
  done
  [ ${#steps[@]} != 0 ] || read -ra steps <<<"$default"
}

need() { # need TOOL...: exits unless every tool is on PATH, and says what to install
  local tool what missing=0
  for tool; do
    command -v "$tool" >/dev/null 2>&1 && continue
    case "$tool" in
      go) what="Go $(sed -n 's/^go //p' go.mod) or later" ;;
      node | npm) what='Node.js 22 or later, which has npm' ;;
      python3) what='Python 3.11 or later' ;;
      java) what='Java 17 or later' ;;
      mvn) what='Maven 3.8 or later' ;;
      ssh-keygen) what="OpenSSH's client" ;;
      unshare) what=util-linux ;;
      sha256sum | timeout) what='GNU coreutils' ;;
      *) what=$tool ;;
    esac
    echo "$judge: $tool is not on PATH: install $what" >&2
    missing=1
  done
  [ "$missing" = 0 ] || exit 1
}

step() { # step NAME COMMAND...: runs the command under a header, and prints $outcome and the time
  local name=$1 begin=$SECONDS code=0
  outcome=ok
  shift
  echo "== $name"
  "$@" || code=$?
  if [ "$code" != 0 ]; then
    echo "== $name: FAILED after $((SECONDS - begin)) s" >&2
    exit "$code"
  fi
  echo "== $name: $outcome, $((SECONDS - begin)) s"
}

say() { printf -- '-- %3d s  %s\n' "$SECONDS" "$*"; }

quiet() { # quiet LOG COMMAND...: shows the output only when the command fails
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; return 1; }
}

json() { # json PATH: prints a value of the object on standard input, such as items.0.id
  node -e 'const path = process.argv[1].split("."); let text = "";
    process.stdin.on("data", d => text += d).on("end", () => {
      const value = path.reduce((v, name) => v?.[name], JSON.parse(text));
      if (value === undefined) { console.error(`no ${process.argv[1]} in ${text.slice(0, 300)}`); process.exit(1); }
      console.log(value);
    })' "$1"
}

# clone copies all files that git does not ignore.
clone() { # clone FOLDER
  mkdir -p "$1" || return
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi
  done | tar --null --files-from=- -cf - | tar -xf - -C "$1"
}

# wait_for waits until a process has written a line with the text to the file.
wait_for() { # wait_for PROCESS FILE LOG [TEXT]
  local waited=0
  until grep -qsF -- "${4-}" "$2"; do
    if ! kill -0 "$1" 2>/dev/null || [ "$waited" -ge 1200 ]; then
      tail -n 20 -- "$3" "$2" >&2
      return 1
    fi
    sleep 0.1
    waited=$((waited + 1))
  done
}

# program builds a program of this repository as $tmp/NAME. CI has built all of them once for all
# judges, in the folder JUDGE_PROGRAMS.
program() { # program NAME...: the folders in scripts
  local name
  for name; do
    if [ -n "${JUDGE_PROGRAMS-}" ]; then
      ln -sf "$JUDGE_PROGRAMS/$name" "$tmp/$name" || return
    else
      go build -o "$tmp/$name" "./scripts/$name" || return
    fi
  done
}

# start runs a command of the workspace that prints one line of JSON when it is ready, and waits for it.
start() { # start FILE ARGUMENT...
  local file=$1
  shift
  "$tmp/workspace" "$@" --json >"$file" 2>"$file.log" &
  processes+=($!)
  wait_for $! "$file" "$file.log"
}

# serve starts the local server with a demo company, once, and exports JUDGE_URL, JUDGE_STUDIO,
# JUDGE_COMPANY and JUDGE_KEY.
serve() {
  [ -z "$served" ] || return 0
  served=yes
  program workspace || return
  start "$tmp/serve" serve --addr 127.0.0.1:0 --data "$tmp/data" || return
  JUDGE_STUDIO=$(json studioUrl <"$tmp/serve") JUDGE_COMPANY=$(json companyId <"$tmp/serve") || return
  JUDGE_KEY=$(json key <"$tmp/serve") JUDGE_URL=$(json baseUrl <"$tmp/serve") || return
  export JUDGE_URL JUDGE_STUDIO JUDGE_KEY JUDGE_COMPANY
}

# The pinned tools. Each is installed in a temporary folder and then moved to its final folder, so that
# an interrupted installation does not look complete.
once() { # once FOLDER COMMAND...: the command gets the folder to fill as its last argument
  local final=$cache/$1 part=$cache/$1.$$
  shift
  [ ! -d "$final" ] || return 0
  rm -rf "$part"
  "$@" "$part" >"$tmp/install" 2>&1 || { tail -20 "$tmp/install" >&2; rm -rf "$part"; return 1; }
  mv "$part" "$final" 2>/dev/null || rm -rf "$part" # another run has installed it
}

venv() { # venv FOLDER PACKAGE: creates a virtual environment
  python3 -m venv "$1" && "$1/bin/pip" install --quiet --disable-pip-version-check "$2"
}

. scripts/check/external/tools.sh # npm_tool and pip_tool

# A tool is built in a temporary module, because `go run module@version` also requests the list of the
# module's versions, which some proxies refuse.
go_tool() { # go_tool MODULE@VERSION PACKAGE: builds a program in the cache, and sets $program
  local dir module=${1%@*} at=${1#*@}
  program=$cache/$(basename "${2%/v2}")-$at
  [ ! -x "$program" ] || return 0
  dir=$(mktemp -d "$tmp/tool.XXXX") && printf 'module tool\n\ngo 1.26\n\nrequire %s %s\n' "$module" "$at" >"$dir/go.mod" || return
  (cd "$dir" && GOFLAGS=-trimpath go build -mod=mod -o "$program.$$" "$2") 2>"$tmp/build" || { tail -20 "$tmp/build" >&2; return 1; }
  mv "$program.$$" "$program"
}
