# format and format-check over the sources that git knows; tidy as well, with the checks of .clang-tidy.
function(corral_source_check name globs command comment)
  add_custom_target(${name}
    COMMAND sh -c "git ls-files -z ${globs} | xargs -0 -r ${command}"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMENT "${comment}" VERBATIM)
endfunction()

corral_source_check(format "'*.c' '*.h'" "clang-format -i" "clang-format")
corral_source_check(format-check "'*.c' '*.h'" "clang-format --dry-run -Werror" "clang-format, changing nothing")
corral_source_check(tidy "'*.c'" "-n 1 -P 2 clang-tidy --quiet -p '${CMAKE_BINARY_DIR}'" "clang-tidy")
