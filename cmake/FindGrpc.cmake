# gRPC's C core as gRPC::grpc. Not through pkg-config: grpc.pc requires forty small libraries of Abseil that C
# programs do not link, and resolving them takes pkg-config ten seconds of a configure run that else takes one.
find_path(GRPC_INCLUDE_DIR grpc/grpc.h REQUIRED)
find_library(GRPC_LIBRARY grpc REQUIRED)
find_library(GPR_LIBRARY gpr REQUIRED)
add_library(gRPC::grpc INTERFACE IMPORTED)
target_include_directories(gRPC::grpc INTERFACE ${GRPC_INCLUDE_DIR})
target_link_libraries(gRPC::grpc INTERFACE ${GRPC_LIBRARY} ${GPR_LIBRARY})
