# shellcheck shell=bash
# Sourced by the judges that run tools written in Go. They set $cache and $tmp.

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
