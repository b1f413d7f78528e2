package io.jccl.verify;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** The bandwidth of the driver's copies, with which the bandwidths of operations are compared. */
final class CopyLimit {

    private CopyLimit() {}

    /**
     * Measures the limit in GB/s: with one GPU, the bandwidth of copies inside the GPU; with several, the lowest
     * bandwidth of a copy to a neighbour. Returns 0 if nothing was measured.
     *
     * @param bytes size of a copy
     * @param copies receives all measurements
     */
    static double measure(Steps steps, int gpus, long bytes, List<Report.Copy> copies)
            throws IOException, InterruptedException {
        List<String> command = Jvm.brief(CopyProgram.class, List.of("" + gpus, "" + bytes));
        steps.step("copy limit", Steps.SHORT.multipliedBy(2), () -> {
            ChildProcess.Result result = steps.child("copies", command, Map.of());
            for (JsonNode row : result.rows()) {
                copies.add(new Report.Copy(
                        row.path("from").asInt(),
                        row.path("to").asInt(),
                        row.path("bytes").asLong(),
                        row.path("gbps").asDouble()));
            }
            return Steps.failure("copies", result);
        });
        return copies.stream()
                .filter(one -> gpus == 1 || one.from() != one.to())
                .mapToDouble(Report.Copy::gbps)
                .min()
                .orElse(0);
    }
}
