package io.jccl.cli.perf;

import io.jccl.Communicator;
import io.jccl.DeviceStream;
import io.jccl.StreamOperations;
import io.jccl.device.HostIdentity;
import io.jccl.nativelib.NativeDevice;
import java.util.Arrays;
import java.util.stream.IntStream;

/** One rank's means to repeat operations as the mode of a run says, by JCCL and by the peer if there is one. */
final class Runs implements AutoCloseable {

    /** Makes repetitions of the operations of a library. */
    @FunctionalInterface
    interface Maker {
        /**
         * Returns a repetition of a workload's operation; all ranks make it together.
         *
         * @param batch number of operations of a batch
         */
        Repetition make(Workload workload, int batch);
    }

    private static final int NO_DEVICE = -1;

    private final PerfOptions options;
    private final Communicator communicator;
    private final Exchange exchange;
    private final int device;
    private long stream;
    private Nccl library;
    private Nccl.Rank nccl;

    private Runs(PerfOptions options, Communicator communicator, Exchange exchange) {
        this.options = options;
        this.communicator = communicator;
        this.exchange = exchange;
        this.device = options.deviceOf(communicator.rank()).orElse(NO_DEVICE);
    }

    /** Makes a rank's means; all ranks do this together. */
    static Runs of(PerfOptions options, Communicator communicator, Exchange exchange) {
        Runs runs = new Runs(options, communicator, exchange);
        try {
            runs.open();
        } catch (RuntimeException | Error e) { // the stream must not stay
            runs.close();
            throw e;
        }
        return runs;
    }

    private void open() {
        if (device == NO_DEVICE) {
            return;
        }
        stream = NativeDevice.newStream(device);
        if (options.peer().isPresent()) {
            library = Nccl.open(options.peer().get(), ranksOfGpu());
            nccl = library.join(exchange, communicator.size(), communicator.rank(), device, stream);
        }
    }

    /** Returns the number of ranks that use this rank's GPU; all ranks call this together. */
    private int ranksOfGpu() {
        String visible = System.getenv().getOrDefault("CUDA_VISIBLE_DEVICES", "");
        long mine = Placement.digest(HostIdentity.host() + " " + visible + " " + device);
        long[] gpus = exchange.all(mine);
        long[] processes = exchange.all(Placement.digest(HostIdentity.process()));
        int[] sharing = IntStream.range(0, gpus.length)
                .filter(rank -> gpus[rank] == mine)
                .toArray();
        if (IntStream.of(sharing).mapToLong(rank -> processes[rank]).distinct().count() > 1) {
            throw new IllegalArgumentException("peer=nccl ranks=" + Arrays.toString(sharing)
                    + ": processes share a GPU, which NCCL supports for ranks of one process only; add --threads, or use"
                    + " as many ranks as GPUs");
        }
        return sharing.length;
    }

    /** Returns a repetition by JCCL. */
    Repetition own(Workload workload, int batch) {
        if (options.mode() == Mode.AWAIT) {
            return Repetition.awaiting(workload.call());
        }
        StreamOperations onStream = communicator.on(new DeviceStream(stream));
        Workload.Call call = workload.call(onStream);
        exchange.barrier(); // no rank allocates or frees memory while another captures
        Repetition made = StreamRepetition.of(options.mode(), device, stream, batch, call::issue, this::requireWell);
        exchange.barrier();
        return made;
    }

    private void requireWell() {
        communicator.failure().ifPresent(failure -> {
            throw failure;
        });
    }

    /** Returns a repetition by the peer. */
    Repetition peer(Workload workload, int batch) {
        exchange.barrier();
        Repetition made = nccl.repetition(
                options.mode(), batch, options, workload.count(), workload.sendBuffer(), workload.recvBuffer());
        exchange.barrier();
        return made;
    }

    String versionOfPeer() {
        return library.version();
    }

    @Override
    public void close() {
        if (nccl != null) {
            nccl.close();
        }
        if (stream != 0) {
            NativeDevice.closeStream(device, stream);
        }
    }
}
