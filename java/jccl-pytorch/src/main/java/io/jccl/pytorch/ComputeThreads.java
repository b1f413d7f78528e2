package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.PeerTransport;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.pytorch.global.torch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Limits the threads with which libtorch computes, so that the ranks of a host do not compete for its cores. */
final class ComputeThreads {

    private static final Logger LOG = LoggerFactory.getLogger(ComputeThreads.class);

    /** Variables by which users choose the number themselves; libtorch, OpenMP and MKL read them. */
    private static final List<String> CHOSEN = List.of("OMP_NUM_THREADS", "MKL_NUM_THREADS");

    private ComputeThreads() {}

    /**
     * Divides the cores of this process among the ranks of this host that run on the same cores. All ranks must call
     * this. Does nothing if the environment names a number of threads, or if libtorch already uses no more.
     */
    static void limit(Communicator comm) {
        String mine = allowedCores();
        List<String> all = comm.allGatherBytes(mine.getBytes(StandardCharsets.UTF_8)).stream()
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                .toList();
        long sharing = 1
                + comm.transports().stream()
                        .filter(peer -> !peer.kind().isNetwork())
                        .mapToInt(PeerTransport::peer)
                        .filter(peer -> peer != comm.rank() && all.get(peer).equals(mine))
                        .count();
        int cores = Runtime.getRuntime().availableProcessors();
        int threads = (int) Math.max(1, cores / sharing);
        int before = torch.get_num_threads();
        if (threads < before
                && CHOSEN.stream()
                        .allMatch(name -> System.getenv().getOrDefault(name, "").isEmpty())) {
            torch.set_num_threads(threads);
            LOG.info(
                    "libtorch computes with {} instead of {} threads, because {} ranks share {} cores; OMP_NUM_THREADS or"
                            + " set_num_threads() choose another number",
                    threads,
                    before,
                    sharing,
                    cores);
        }
    }

    /** Returns the cores on which this process may run, as the kernel writes them; empty if the kernel does not say. */
    private static String allowedCores() {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith("Cpus_allowed_list:"))
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            return "";
        }
    }
}
