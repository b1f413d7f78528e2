package io.jccl.cli.perf;

import io.jccl.nativelib.NativeDevice;

/** Runs an operation on a stream of a GPU: puts it there, or replays a graph that contains it. */
final class StreamRepetition implements Repetition {

    /** Operations of a batch, of which one time stamp is taken; as many as nccl-tests measures together. */
    static final int BATCH = 20;

    /**
     * The maximum number of batches on the stream. A full queue of the driver, which holds about a thousand launches,
     * blocks the launching thread. If ranks share the process, that thread could keep another rank from launching the
     * kernel for which the queue waits.
     */
    private static final int MAX_BATCHES = 5;

    private final int device;
    private final long stream;
    private final int batch;
    private final int maxBatches;
    private final Runnable put;
    private final Runnable check;
    private final Runnable end;

    private StreamRepetition(
            int device, long stream, int batch, int maxBatches, Runnable put, Runnable check, Runnable end) {
        this.device = device;
        this.stream = stream;
        this.batch = batch;
        this.maxBatches = maxBatches;
        this.put = put;
        this.check = check;
        this.end = end;
    }

    /**
     * Returns a repetition for a mode.
     *
     * @param batch number of operations of a batch; 1 if the mode is {@link Mode#AWAIT}
     * @param put puts one operation on the stream
     * @param check throws an exception if an operation has failed
     */
    static StreamRepetition of(Mode mode, int device, long stream, int batch, Runnable put, Runnable check) {
        Runnable one = () -> {
            for (int i = 0; i < batch; i++) {
                put.run();
            }
        };
        if (mode != Mode.GRAPH) {
            int maxBatches = mode == Mode.AWAIT ? 1 : MAX_BATCHES;
            return new StreamRepetition(device, stream, batch, maxBatches, one, check, () -> {});
        }
        long graph = NativeDevice.capture(device, stream, one);
        return new StreamRepetition(
                device,
                stream,
                batch,
                MAX_BATCHES,
                () -> NativeDevice.replayGraph(device, graph, stream),
                check,
                () -> NativeDevice.freeGraph(device, graph));
    }

    @Override
    public int batch() {
        return batch;
    }

    @Override
    public void run(int batches) {
        for (int i = 1; i <= batches; i++) {
            put.run();
            if (i % maxBatches == 0 || i == batches) {
                NativeDevice.awaitStream(device, stream);
                check.run();
            }
        }
    }

    @Override
    public void close() {
        end.run();
    }
}
