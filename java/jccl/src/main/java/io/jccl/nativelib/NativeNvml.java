package io.jccl.nativelib;

import java.util.List;

/** NVIDIA's management library, opened at run time where there is one. */
public final class NativeNvml {

    static {
        NativeLoader.load();
    }

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
     */
    public static Answer ask(String library) {
        String[] remarks = {""};
        long[] numbers = read(library, remarks);
        return new Answer(numbers, remarks[0].lines().toList());
    }

    private static native long[] read(String library, String[] remarks);
}
