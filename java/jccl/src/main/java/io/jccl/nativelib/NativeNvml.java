package io.jccl.nativelib;

import java.util.List;

/** NVIDIA's management library, opened at run time where there is one. */
public final class NativeNvml {

    private NativeNvml() {}

    /**
     * What it said.
     *
     * @param numbers the report in the layout of {@code native/nvml/nvml_report.h}; null where the library cannot be used
     * @param remarks why something is not known, one reason each
     */
    @SuppressWarnings("ArrayRecordComponent") // read at once, never compared
    public record Answer(long[] numbers, List<String> remarks) {}

    /**
     * Queries it about all GPUs that it lets this process see. It is started and shut down within this call.
     *
     * @param library a name that the system's loader looks up, or a path
     * @throws NativeLoadException if JCCL's own library cannot be loaded
     */
    public static Answer ask(String library) {
        NativeLoader.load(); // not in a static initializer, which would throw an error of its own
        String[] remarks = {""};
        long[] numbers = read(library, remarks);
        return new Answer(numbers, remarks[0].lines().toList());
    }

    private static native long[] read(String library, String[] remarks);
}
