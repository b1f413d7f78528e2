package io.jccl.verify;

import io.jccl.cli.Program;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Json;
import io.jccl.nativelib.NativeDevice;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * Measures the bandwidth of a driver's copies in each device and to its neighbour; prints a line of JSON for each pair.
 * {@link GpuVerify} starts this program as a process.
 */
@Command(name = CopyProgram.NAME, description = "the copy limit of gpu-verify")
public final class CopyProgram implements Callable<Integer> {

    static final String NAME = "gpu-copy";

    private static final int COPIES = 16;
    private static final int ROUNDS = 5;

    @Parameters(index = "0", paramLabel = "DEVICES")
    private int devices;

    @Parameters(index = "1", paramLabel = "BYTES")
    private long bytes;

    private CopyProgram() {}

    /** Measures and ends the process with the status. */
    public static void main(String[] arguments) {
        Program.run(NAME, CopyProgram::new, arguments);
    }

    @Override
    public Integer call() {
        for (int device = 0; device < devices; device++) {
            measure(device, device);
            if (devices > 1) {
                measure(device, (device + 1) % devices);
            }
        }
        return ExitCode.SUCCESS;
    }

    private void measure(int from, int to) {
        long source = NativeDevice.allocateMemory(from, bytes);
        long target = NativeDevice.allocateMemory(to, bytes);
        long stream = NativeDevice.newStream(from);
        double best = 0;
        for (int round = 0; round < ROUNDS; round++) { // the first one warms up
            long begin = System.nanoTime();
            for (int i = 0; i < COPIES; i++) {
                NativeDevice.copyMemory(from, target, source, bytes, stream);
            }
            NativeDevice.awaitStream(from, stream);
            best = Math.max(best, COPIES * (double) bytes / (System.nanoTime() - begin));
        }
        NativeDevice.closeStream(from, stream);
        NativeDevice.freeMemory(to, target);
        NativeDevice.freeMemory(from, source);
        double gbps = best;
        System.out.println(Json.line(json -> {
            json.writeStartObject();
            json.writeNumberField("from", from);
            json.writeNumberField("to", to);
            json.writeNumberField("bytes", bytes);
            Json.number(json, "gbps", gbps);
            json.writeEndObject();
        }));
    }
}
