package io.jccl.nativelib;

import java.util.List;

/** Queries NVIDIA's management library (NVML), opened at run time if there is one. */
public final class NativeNvml {

    private NativeNvml() {}

    /**
     * The answer of the library.
     *
     * @param numbers the report in the layout of {@code native/nvml/nvml_report.h}; null if the library cannot be used
     * @param remarks reasons why facts are unknown
     */
    @SuppressWarnings("ArrayRecordComponent") // the arrays are read at once, never compared
    public record Answer(long[] numbers, List<String> remarks) {}

    /**
     * Queries the library about all GPUs that it shows to this process. Starts the library and shuts it down within
     * this call.
     *
     * @param library a name that the system's loader looks up, or a path
     * @throws NativeLoadException if JCCL's own library cannot be loaded
     */
    public static Answer ask(String library) {
        NativeLoader.load(); // not in a static initializer, whose failure would be an error of the JVM
        String[] remarks = {""};
        long[] numbers = read(library, remarks);
        return new Answer(numbers, remarks[0].lines().toList());
    }

    private static native long[] read(String library, String[] remarks);
}
