#!/usr/bin/env bash
# From a fresh Debian 12 machine to a program that talks: installs packages, builds Ingot, fetches a small model,
# compiles it and asks it something. Needs about 4 GB of disk. Everything it makes lies below build/.
#
#   examples/quickstart.sh ["a question"]
set -euo pipefail
cd "$(dirname "$0")/.."
question=${1:-"Why is the sky blue?"}

.ci/install
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
ninja -C build/release ingot

examples/fetch-models.sh build/models smollm2
build/release/bin/ingot compile build/models/smollm2.gguf -o build/smollm2
echo "--- build/smollm2 \"$question\""
build/smollm2 "$question"
