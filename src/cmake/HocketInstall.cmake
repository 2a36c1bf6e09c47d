# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# What `cmake --install` leaves behind: library, headers, CMake package, pkg-config file.
# Everything is relocatable: the package and the .pc file find their prefix from where they lie.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(hocket_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hocket")
install(TARGETS hocket EXPORT hocketTargets COMPONENT development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT development
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
install(EXPORT hocketTargets NAMESPACE hocket::
  DESTINATION "${hocket_package_dir}" COMPONENT development)

set(hocket_boost_version "${HOCKET_BOOST_VERSION_MIN}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/hocketConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/hocketConfig.cmake" INSTALL_DESTINATION "${hocket_package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/hocketConfigVersion.cmake"
  VERSION "${hocket_version}" COMPATIBILITY SameMinorVersion)

cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "/p" OUTPUT_VARIABLE hocket_libdir)
cmake_path(RELATIVE_PATH hocket_libdir BASE_DIRECTORY "/p" OUTPUT_VARIABLE hocket_libdir_relative)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "/p"
  OUTPUT_VARIABLE hocket_includedir)
cmake_path(RELATIVE_PATH hocket_includedir BASE_DIRECTORY "/p"
  OUTPUT_VARIABLE hocket_includedir_relative)
set(hocket_prefix "/p")
cmake_path(RELATIVE_PATH hocket_prefix BASE_DIRECTORY "${hocket_libdir}/pkgconfig"
  OUTPUT_VARIABLE hocket_prefix_from_pc)
configure_file("${CMAKE_CURRENT_LIST_DIR}/hocket.pc.in"
  "${CMAKE_CURRENT_BINARY_DIR}/hocket.pc" @ONLY)

install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hocketConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/hocketConfigVersion.cmake"
  DESTINATION "${hocket_package_dir}" COMPONENT development)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/hocket.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
if(TARGET hocket_tool)
  install(TARGETS hocket_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
endif()
