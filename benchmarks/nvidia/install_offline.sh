#!/usr/bin/env bash
# Builds wavescope with the machine's own tools, without a network, for the python3 that has torch.
#   . benchmarks/nvidia/install_offline.sh [FOLDER OF WHEELS]
# Sourced, it leaves PYTHONPATH set; run, it says what to set. Everything lands in build/offline.
offline_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
offline_site=$offline_root/build/offline
offline_wheels=${1:-$offline_root/.device/wheels}

offline_install() {
  local generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  cmake -S "$offline_root/native" -B "$offline_root/build/offline-native" "${generator[@]}" \
    -DCMAKE_BUILD_TYPE=Release >/dev/null || return
  cmake --build "$offline_root/build/offline-native" -j "$(nproc)" || return
  rm -rf "$offline_site"
  mkdir -p "$offline_site"
  cp -r "$offline_root/src/wavescope" "$offline_site/wavescope" || return
  cmake --install "$offline_root/build/offline-native" --prefix "$offline_site/wavescope/lib" >/dev/null || return
  # What the interpreter has already is left alone: another numpy beside torch's would break both.
  local missing=() pair
  for pair in orjson:orjson isal:isal pytest:pytest hypothesis:hypothesis pluggy:pluggy \
    iniconfig:iniconfig packaging:packaging pygments:pygments sortedcontainers:sortedcontainers; do
    python3 -c "import ${pair%%:*}" 2>/dev/null || missing+=("${pair##*:}")
  done
  if ((${#missing[@]})); then
    python3 -m pip --version >/dev/null 2>&1 &&
      python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
        --find-links "$offline_wheels" --target "$offline_site" "${missing[@]}" ||
      offline_unpack "${missing[@]}"
  fi
  PYTHONPATH=$offline_site python3 -m compileall -q "$offline_site/wavescope"
  PYTHONPATH=$offline_site python3 -m wavescope --version
}

# A wheel is an archive; where there is no pip, unpacking one that needs no building installs it.
offline_unpack() {
  local name wheel
  for name; do
    for wheel in "$offline_wheels/$name"-*.whl; do
      python3 -m zipfile -e "$wheel" "$offline_site"
    done
  done
}

offline_install || echo "wavescope was not installed" >&2
export PYTHONPATH=$offline_site${PYTHONPATH:+:$PYTHONPATH}
echo "PYTHONPATH=$PYTHONPATH" >&2
