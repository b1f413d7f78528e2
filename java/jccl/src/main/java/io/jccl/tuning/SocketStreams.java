package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;

/**
 * How TCP carries a connection between two ranks of different hosts.
 *
 * @param threads number of threads of a rank that move data
 * @param connections number of TCP connections, a multiple of the threads
 */
public record SocketStreams(int threads, int connections) {

    private static final int LARGE_BYTES = 4 << 20;

    /** An estimate: the application needs cores, too. */
    private static final int MAX_THREADS = 8;

    /**
     * The rate of one TCP connection in GB/s. Clouds limit a flow to 10 Gbit/s or less, and one queue of a network card
     * serves it.
     */
    private static final double FLOW_GBPS = 1.25;

    private static final int MAX_CONNECTIONS = 16;

    /**
     * The time in nanoseconds for encrypting a byte that is sent and decrypting one that arrives, measured with OpenSSL
     * 3.0 on an AMD EPYC (family 26 model 2).
     */
    private static final double ENCRYPTION_NANOS_PER_BYTE = 0.37;

    /**
     * Returns what the settings ask for, and otherwise what the slowest link between hosts needs: as many threads as
     * cores are busy with copying at the link's rate, if each rank has so many cores, and as many connections as flows
     * carry that rate. Equal on all ranks.
     *
     * @param encrypted true if the data is encrypted
     */
    public static SocketStreams of(Settings settings, CommunicatorShape shape, HostCosts costs, boolean encrypted) {
        int askedThreads = settings.get(NetworkSettings.SOCKET_NTHREADS);
        int askedEach = settings.get(NetworkSettings.NSOCKS_PERTHREAD);
        double rate = shape.oneHost() ? 0 : shape.netGBps();
        int threads = askedThreads > 0
                ? askedThreads
                : Math.min(
                        threads(rate, shape, costs, encrypted), NetworkSettings.MAX_STREAMS / Math.max(1, askedEach));
        int flows = (int) Math.min(MAX_CONNECTIONS, Math.ceil(rate / FLOW_GBPS));
        int each = askedEach > 0 ? askedEach : Math.max(1, (flows + threads - 1) / threads);
        return new SocketStreams(threads, threads * each);
    }

    private static int threads(double rate, CommunicatorShape shape, HostCosts costs, boolean encrypted) {
        double nanosPerByte = costs.link(TransportKind.SOCKET, Algorithm.RING, Protocol.SIMPLE)
                        .nanosPerByte(LARGE_BYTES)
                + (encrypted ? ENCRYPTION_NANOS_PER_BYTE : 0);
        int cores = shape.cores() / shape.localRanks();
        return Math.max(1, Math.min((int) Math.ceil(rate * nanosPerByte), Math.min(cores, MAX_THREADS)));
    }
}
