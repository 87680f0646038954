# Packages of what `cmake --install` installs: cpack -G DEB, cpack -G TGZ.
set(CPACK_PACKAGE_NAME batchfeed)
set(CPACK_PACKAGE_VENDOR batchfeed)
set(CPACK_PACKAGE_CONTACT "batchfeed maintainers <maintainers@batchfeed.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Checks, converts and feeds training corpora in CNTK's text and binary formats, HTK features with MLF
labels, and Kaldi archives. The command, the C++ library with its headers, man pages and completions.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_PACKAGE_FILE_NAME "batchfeed-${PROJECT_VERSION}-${system}")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, zlib1g-dev, libzstd-dev")

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(CPack)
