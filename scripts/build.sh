# SPDX-License-Identifier: MIT
#
# To be sourced, in the root of the tree. Quiet; the log is shown when it fails.

# Two builds with the same options in folders side by side, as the command and the Python package
# are, share what they compile.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
# So do clones in folders of other names, where nobody asks a debugger for the source.
[ -n "${CI:-}" ] && export CCACHE_NOHASHDIR=1

# configure PRESET: once, and again where a CMakeLists.txt changed.
configure() {
  local preset=$1 log="build/logs/configure-$1.log" args=()
  mkdir -p build/logs
  if [ -f "build/$preset/build.ninja" ] && ninja -C "build/$preset" build.ninja >"$log" 2>&1; then return 0; fi
  # Where all is built from nothing, files together: two thirds of the time. Not what is shipped.
  [ -n "${CI:-}" ] && [[ $preset = dev || $preset = fuzz || $preset = tsan ]] && args+=(-DCMAKE_UNITY_BUILD=ON)
  # Nobody looks at variables there: a ninth of the time.
  [ -n "${CI:-}" ] && [ "$preset" = dev ] && args+=(-DCMAKE_CXX_FLAGS_DEBUG=-g1)
  command -v ccache >/dev/null && args+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  if ! cmake --preset "$preset" "${args[@]}" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "configuring '$preset' failed; $log has all of it" >&2
    return 1
  fi
}

# build PRESET [TARGET]...
build() {
  local preset=$1 log="build/logs/build-$1.log" begin=$SECONDS
  shift
  configure "$preset" || return 1
  if ! cmake --build "build/$preset" -j "$(nproc 2>/dev/null || echo 2)" ${1:+--target "$@"} >"$log" 2>&1; then
    grep -nE 'error|FAILED|undefined' "$log" | head -n 40 >&2
    tail -n 20 "$log" >&2
    echo "building '$preset' failed; $log has all of it" >&2
    return 1
  fi
  echo "built $preset in $((SECONDS - begin)) s"
}
