package io.jccl.verify;

import java.io.File;
import java.nio.file.Path;

/** The folder that {@code scripts/gpu-bundle} has made. */
record Bundle(Path folder) {

    /** Returns the library of kernels with deliberate errors. */
    Path mutatedKernels() {
        return folder.resolve("test-lib/libjccl_cuda_mutated.so").toAbsolutePath();
    }

    /** Returns the program that measures a GPU without Java. */
    Path benchmark() {
        return folder.resolve("bench/gpu_bench").toAbsolutePath();
    }

    /** Returns the library that calls NCCL. */
    Path ncclBinding() {
        return folder.resolve("bench/libjccl_nccl.so").toAbsolutePath();
    }

    /** Returns the jar with the tests of the library. */
    Path tests() {
        return folder.resolve("test-lib/jccl-tests.jar");
    }

    /** Returns the class path of the tests, with JUnit's console. */
    String classPathOfTests() {
        return folder.resolve("lib") + "/*" + File.pathSeparator + folder.resolve("test-lib") + "/*";
    }
}
