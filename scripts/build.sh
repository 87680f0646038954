# SPDX-License-Identifier: MIT
#
# To be sourced, in the root of the tree. Prints no output of the build, unless it fails.

# Builds with the same options in different folders of this tree, as those of the command and of the
# Python package, share ccache's entries.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
# In CI, where no debugger needs the paths of the sources, clones in folders of other names share them, too.
[ -n "${CI:-}" ] && export CCACHE_NOHASHDIR=1

# configure PRESET: runs CMake the first time, and again if a CMakeLists.txt changed.
configure() {
  local preset=$1 log="build/logs/configure-$1.log" args=()
  mkdir -p build/logs
  if [ -f "build/$preset/build.ninja" ] && ninja -C "build/$preset" build.ninja >"$log" 2>&1; then return 0; fi
  # CI builds everything from scratch: compiling several files together takes two thirds of the time. Not for
  # the presets that are shipped.
  [ -n "${CI:-}" ] && [[ $preset = dev || $preset = fuzz || $preset = tsan ]] && args+=(-DCMAKE_UNITY_BUILD=ON)
  # Nobody debugs there: without the debug information of variables it takes a ninth less time.
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
