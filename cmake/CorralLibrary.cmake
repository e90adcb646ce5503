# libcorral: every layer in one shared library, with headers, a CMake package and a pkg-config file.
#
# The layers are static libraries that the programs link directly. The shared one takes them whole, since a program of
# a user's own may call anything that a public header names. Only names that begin with corral_ leave it.
get_property(layers GLOBAL PROPERTY CORRAL_LAYERS)
get_property(include_folders GLOBAL PROPERTY CORRAL_INCLUDE_DIRS)
list(REMOVE_DUPLICATES include_folders)
set(version_script ${CMAKE_CURRENT_LIST_DIR}/libcorral.map)

list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE layer_objects)
add_library(corral_library SHARED ${layer_objects})
set_target_properties(corral_library PROPERTIES
  OUTPUT_NAME corral EXPORT_NAME corral LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} # before 1.0 a minor one may break
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  LINK_DEPENDS ${version_script})
target_link_libraries(corral_library PRIVATE ${layers}) # for what the layers themselves link
target_link_options(corral_library PRIVATE -Wl,--as-needed -Wl,--version-script=${version_script})
if(NOT CORRAL_SANITIZER)
  target_link_options(corral_library PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(corral_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS corral_library EXPORT corral LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder ${include_folders})
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()

# libcorral_policy: what acting needs and nothing else, for programs that only play. It shows the agent alone.
add_library(corral_policy_library SHARED
  $<TARGET_OBJECTS:corral_base> $<TARGET_OBJECTS:corral_core> $<TARGET_OBJECTS:corral_policy>)
set_target_properties(corral_policy_library PROPERTIES
  OUTPUT_NAME corral_policy EXPORT_NAME policy LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libcorral_policy.map)
target_link_libraries(corral_policy_library PRIVATE corral_base corral_core corral_policy)
target_link_options(corral_policy_library PRIVATE -Wl,--as-needed -Wl,--gc-sections
  -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/libcorral_policy.map)
if(NOT CORRAL_SANITIZER)
  target_link_options(corral_policy_library PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(corral_policy_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS corral_policy_library EXPORT corral LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/corral)
install(EXPORT corral NAMESPACE corral:: FILE corral-config.cmake DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/corral-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/corral-config-version.cmake DESTINATION ${package_folder})

# pkg-config finds its prefix from where the file lies, so that an installed tree may be moved.
file(RELATIVE_PATH CORRAL_LIBDIR_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_PREFIX})
foreach(name corral corral-policy)
  string(REPLACE "-" "_" CORRAL_PC_LIBRARY ${name})
  set(CORRAL_PC_NAME ${name})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/corral.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/corral.pc ${CMAKE_BINARY_DIR}/corral-policy.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
