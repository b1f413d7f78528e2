package io.jccl.cli.perf;

import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.nativelib.NativeDevice;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * NVIDIA's NCCL in this process. A library of this project, which bundles for GPU hosts contain, opens it at run time
 * and calls it.
 */
final class Nccl {

    private static final String LIBRARY = "libnccl.so.2";
    private static final int FIRST_WITH_SHARED_GPUS = 23000;
    private static final int ID_WORDS = 16;

    /** Prints the folders in which Python looks for packages, such as NVIDIA's package of NCCL. */
    private static final List<String> PYTHON_FOLDERS =
            List.of("python3", "-c", "import sys; print('\\n'.join(sys.path))");

    private static Nccl opened;

    private final String file;
    private final int version;

    private Nccl(String file, int version) {
        this.file = file;
        this.version = version;
    }

    private static native String lastError();

    private static native int open(String file, int ranksOfGpu);

    private static native boolean createId(long[] id);

    private static native long init(long[] id, int ranks, int rank);

    private static native boolean destroy(long comm);

    private static native boolean isWell(long comm);

    private static native long newCall(
            long comm,
            int ranks,
            int rank,
            String collective,
            String type,
            String op,
            int root,
            long send,
            long recv,
            long count,
            long stream);

    private static native boolean put(long call);

    private static native void freeCall(long call);

    /**
     * Opens NCCL, once in a process.
     *
     * @param ranksOfGpu the largest number of ranks that share a GPU
     * @throws IllegalArgumentException if there is no NCCL, or if it cannot run that many ranks
     */
    static synchronized Nccl open(Peer peer, int ranksOfGpu) {
        if (opened == null) {
            loadBinding();
            String file = peer.library().map(Path::toString).orElseGet(Nccl::find);
            int version = open(file, ranksOfGpu);
            if (version < 0) {
                throw new IllegalArgumentException("peer=nccl library=" + file + ": " + lastError()
                        + "; install NCCL (libnccl2, or pip install nvidia-nccl-cu13), or name its libnccl.so.2 with"
                        + " --peer-library");
            }
            opened = new Nccl(file, version);
        }
        if (ranksOfGpu > 1 && opened.version < FIRST_WITH_SHARED_GPUS) {
            throw new IllegalArgumentException("peer=nccl version=" + opened.version() + " ranks of a GPU=" + ranksOfGpu
                    + ": expected version 2.30 or later, because older ones need a GPU for each rank; compare one rank"
                    + " (-n 1), or name a newer libnccl.so.2 with --peer-library");
        }
        return opened;
    }

    private static void loadBinding() {
        String binding = System.getProperty(RankProcesses.NCCL_BINDING, "");
        if (binding.isEmpty()) {
            throw new IllegalArgumentException(
                    "peer=nccl " + RankProcesses.NCCL_BINDING + " is not set: the library that calls NCCL is"
                            + " only in bundles of scripts/gpu-bundle, whose jccl command sets it");
        }
        try {
            System.load(Path.of(binding).toAbsolutePath().toString());
        } catch (UnsatisfiedLinkError e) {
            throw new IllegalArgumentException(
                    RankProcesses.NCCL_BINDING + "=" + binding + ": cannot be loaded: " + Causes.describe(e), e);
        }
    }

    /**
     * Returns the library in a Python package, which is usually newer than the system's, or else the name by which the
     * loader finds the system's.
     */
    private static String find() {
        return pythonFolders()
                .map(folder -> Path.of(folder, "nvidia", "nccl", "lib", LIBRARY))
                .filter(Files::isReadable)
                .findFirst()
                .map(Path::toString)
                .orElse(LIBRARY);
    }

    private static Stream<String> pythonFolders() {
        try {
            Process python = new ProcessBuilder(PYTHON_FOLDERS)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            python.getOutputStream().close();
            String folders = new String(python.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return python.waitFor(10, TimeUnit.SECONDS) ? folders.lines().filter(line -> !line.isBlank()) : Stream.of();
        } catch (IOException e) { // there is no Python
            return Stream.of();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Stream.of();
        }
    }

    /** Returns the version, such as {@code 2.30.3}. */
    String version() {
        return version / 10_000 + "." + version / 100 % 100 + "." + version % 100;
    }

    /** Returns the file or the name by which the library was opened. */
    String file() {
        return file;
    }

    /** Makes a rank's communicator; all ranks do this together. */
    Rank join(Exchange exchange, int ranks, int rank, int device, long stream) {
        long[] id = new long[ID_WORDS];
        boolean created = rank != 0 || createId(id);
        String why = created ? "" : lastError();
        for (int word = 0; word < ID_WORDS; word++) {
            id[word] = exchange.all(id[word])[0];
        }
        long[] comm = new long[1];
        if (exchange.sum(created ? 0 : 1) == 0) {
            NativeDevice.onDevice(device, () -> comm[0] = init(id, ranks, rank));
            why = comm[0] == 0 ? lastError() : "";
        }
        if (comm[0] == 0) {
            throw new JcclException("peer=nccl version=" + version() + " rank=" + rank + " device=" + device
                    + ": cannot make a communicator: " + why + "; set NCCL_DEBUG=INFO to see NCCL's reasons");
        }
        return new Rank(comm[0], ranks, rank, device, stream);
    }

    /** One rank's communicator of NCCL. */
    static final class Rank implements AutoCloseable {

        private final long comm;
        private final int ranks;
        private final int rank;
        private final int device;
        private final long stream;

        private Rank(long comm, int ranks, int rank, int device, long stream) {
            this.comm = comm;
            this.ranks = ranks;
            this.rank = rank;
            this.device = device;
            this.stream = stream;
        }

        /** Returns a repetition of an operation with the arguments of JCCL's call. */
        Repetition repetition(Mode mode, int batch, PerfOptions options, long count, DataBuffer send, DataBuffer recv) {
            long call = newCall(
                    comm,
                    ranks,
                    rank,
                    options.collective().label(),
                    options.type().label(),
                    options.op().label(),
                    options.root(),
                    addressOf(send),
                    addressOf(recv),
                    count,
                    stream);
            if (call == 0) {
                throw new JcclException("peer=nccl: " + lastError());
            }
            Repetition repetition = StreamRepetition.of(
                    mode, device, stream, batch, () -> require(put(call)), () -> require(isWell(comm)));
            return new Repetition() {
                @Override
                public int batch() {
                    return repetition.batch();
                }

                @Override
                public void run(int batches) {
                    repetition.run(batches);
                }

                @Override
                public void close() {
                    repetition.close();
                    freeCall(call);
                }
            };
        }

        private static long addressOf(DataBuffer buffer) {
            return buffer == null ? 0 : buffer.address();
        }

        private void require(boolean fine) {
            if (!fine) {
                throw new JcclException("peer=nccl rank=" + rank + ": " + lastError());
            }
        }

        @Override
        public void close() {
            NativeDevice.onDevice(device, () -> require(destroy(comm)));
        }
    }
}
