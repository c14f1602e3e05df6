# shellcheck shell=bash
# Installs tools from npm and PyPI into the user's cache. A tool and its dependencies have the
# versions and digests of its lock file in scripts/check/external/tools. Sourced in the root of the
# repository. The caller sets $cache, the folder of the judges' tools, and $tmp.
#
# To change the version of a tool from npm, edit its package.json, and run in its folder:
#
#   npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
#
# For a tool from PyPI, run in the folder of the lock files:
#
#   echo NAME==VERSION | uv pip compile --universal --python-version 3.11 --generate-hashes \
#     --no-header --no-annotate --output-file NAME.txt -

locks=$PWD/scripts/check/external/tools

# locked prints the folder in the cache of the tool that a lock file describes. If the lock file
# changes, so does the folder.
locked() { # locked FOLDER FILE
  echo "$cache/$1-$(cksum <"$2" | cut -d ' ' -f 1)"
}

# npm_tool sets $modules to the folder of the tool's modules. It installs the tool in a temporary
# folder and then moves it, so that an interrupted installation does not look complete. Only `node`
# may run scripts: its script fetches the program for this system.
npm_tool() { # npm_tool NAME
  local lock=$locks/$1 folder part scripts=--ignore-scripts
  folder=$(locked "npm-$1" "$lock/package-lock.json") || return
  part=$folder.$$
  modules=$folder/node_modules
  [ ! -d "$folder" ] || return 0
  [ "$1" != node ] || scripts=--foreground-scripts
  { mkdir "$part" && cp "$lock/package.json" "$lock/package-lock.json" "$part" &&
    npm ci --prefix "$part" "$scripts" --no-audit --no-fund --loglevel=error; } >"$tmp/install" 2>&1 ||
    { tail -20 "$tmp/install" >&2; rm -rf "$part"; return 1; }
  mv "$part" "$folder" 2>/dev/null || rm -rf "$part" # another run has installed it
}

# pip_tool sets $bin to the folder of the commands of the tool's virtual environment. An environment cannot be moved, so it is
# created in its final folder. The file "complete" marks a finished installation. The lock file has all
# dependencies, so pip need not look for them (--no-deps).
pip_tool() { # pip_tool NAME
  local lock=$locks/$1.txt venv
  venv=$(locked "pip-$1" "$lock") || return
  bin=$venv/bin
  [ ! -e "$venv/complete" ] || return 0
  rm -rf "$venv"
  { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$lock"; } \
    >"$tmp/install" 2>&1 || { tail -20 "$tmp/install" >&2; return 1; }
  touch "$venv/complete"
}
