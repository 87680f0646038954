# zlib and zstd read compressed corpora. Each is used if it is there (AUTO),
# demanded (ON) or left out (OFF); what is left out is refused by name at run time.
# BATCHFEED_STATIC_COMPRESSION takes zstd's archive, so that a wheel needs only zlib, which
# is everywhere (and whose archive Debian does not build for shared objects).
set(BATCHFEED_ZLIB AUTO CACHE STRING "Read gzip: AUTO, ON or OFF")
set(BATCHFEED_ZSTD AUTO CACHE STRING "Read and write zstd: AUTO, ON or OFF")
option(BATCHFEED_STATIC_COMPRESSION "Link zstd as an archive" ${BATCHFEED_PORTABLE})

function(batchfeed_compression option package target)
  set(found FALSE)
  if(NOT ${option} STREQUAL "OFF")
    if(BATCHFEED_PORTABLE OR (BATCHFEED_STATIC_COMPRESSION AND package STREQUAL "zstd"))
      set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
    endif()
    set(known FALSE)
    if(TARGET ${target})
      set(known TRUE)  # the project around this one found it, and has it in its hands
    endif()
    find_package(${package} QUIET)
    if(TARGET ${target})
      set(found TRUE)
      if(NOT known)
        set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
      endif()
    elseif(${option} STREQUAL "ON")
      message(FATAL_ERROR "${option}=ON, but ${package} was not found")
    else()
      message(STATUS "batchfeed: ${package} was not found; its files will be refused (${option}=ON demands it)")
    endif()
  endif()
  string(REPLACE "BATCHFEED_" "BATCHFEED_WITH_" with ${option})
  set(${with} ${found} PARENT_SCOPE)
endfunction()

batchfeed_compression(BATCHFEED_ZLIB ZLIB ZLIB::ZLIB)
batchfeed_compression(BATCHFEED_ZSTD zstd zstd::libzstd)
