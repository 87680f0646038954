include(CMakePackageConfigHelpers)
install(TARGETS batchfeed EXPORT batchfeed)
install(DIRECTORY include/batchfeed "${PROJECT_BINARY_DIR}/generated/batchfeed" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT batchfeed NAMESPACE batchfeed:: FILE batchfeedTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/batchfeed)
configure_package_config_file(cmake/batchfeedConfig.cmake.in "${PROJECT_BINARY_DIR}/batchfeedConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/batchfeed)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/batchfeedConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/batchfeedConfig.cmake" "${PROJECT_BINARY_DIR}/batchfeedConfigVersion.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/batchfeed)
configure_file(cmake/batchfeed.pc.in "${PROJECT_BINARY_DIR}/batchfeed.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/batchfeed.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
