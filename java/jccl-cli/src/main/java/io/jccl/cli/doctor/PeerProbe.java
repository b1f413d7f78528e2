package io.jccl.cli.doctor;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.launch.Launch;
import io.jccl.membership.Bootstrap;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.NetworkInterfaces;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * One rank's part in {@code jccl doctor --peers}. The rank listens on the addresses that would carry its data, connects
 * to the addresses of all other ranks as their data would, and receives the results of all ranks. Each rank sends
 * full-sized packets to every other, so that both directions of a path are tested: a path that drops such packets still
 * lets ranks connect.
 */
final class PeerProbe {

    /**
     * What one rank reports about itself.
     *
     * @param host readable name of its host
     * @param addresses addresses and ports at which it listens
     */
    record Place(String host, List<InetSocketAddress> addresses) {}

    /**
     * One attempt to connect.
     *
     * @param micros time in µs until the peer answered or the attempt failed
     * @param failure reason why the attempt failed; empty if it worked
     * @param large reason why full-sized packets did not arrive over the connection; empty if they did or were not sent
     */
    record Attempt(int from, int to, InetSocketAddress address, long micros, String failure, String large) {

        /**
         * Creates an attempt without a failure of full-sized packets: they arrived, or the attempt failed before they
         * were sent.
         */
        Attempt(int from, int to, InetSocketAddress address, long micros, String failure) {
            this(from, to, address, micros, failure, "");
        }

        boolean worked() {
            return failure.isEmpty();
        }
    }

    /** The places and attempts of all ranks; equal on every rank. */
    record Result(List<Place> places, List<Attempt> attempts) {}

    /**
     * Time-out of an attempt to connect, in ms. The kernel sends a dropped SYN again after 1 s and 3 s, so a single
     * lost packet does not look like a firewall.
     */
    private static final int CONNECT_MILLIS = 4000;

    /** Size that exceeds the largest packet of any network, which is 65 520 bytes with IP over InfiniBand. */
    private static final int LARGE_BYTES = 128 << 10;

    /**
     * Time-out in ms until the first byte of the full-sized packets arrives; the rest has twice this time. The kernel
     * sends a lost packet again after 0.2 s, 0.6 s, 1.4 s and 3 s.
     */
    private static final int LARGE_MILLIS = 4000;

    private static final int BEGUN = 1;
    private static final int WHOLE = 2;
    private static final int THREADS = 32;
    private static final int MAX_CHARS = 300;
    private static final Duration SLACK = Duration.ofSeconds(30);

    private final int rank;
    private final List<InetAddress> sources;

    private PeerProbe(int rank, List<InetAddress> sources) {
        this.rank = rank;
        this.sources = sources;
    }

    /**
     * Probes the networks between the ranks; every rank of the launch must call this.
     *
     * @param host name of this host
     * @throws JcclException if ranks do not connect; the message names the missing ranks
     */
    static Result run(Launch launch, String host, BootstrapOptions options) {
        List<ServerSocket> servers = new ArrayList<>();
        ExecutorService threads = Executors.newCachedThreadPool(PeerProbe::daemon);
        try (Bootstrap group = Bootstrap.join(launch, 0, options)) {
            List<InetAddress> sources = NetworkInterfaces.forData(options, group.localAddress());
            for (InetAddress source : sources) {
                ServerSocket server = new ServerSocket(0, Math.max(50, launch.size()), source);
                servers.add(server);
                threads.execute(() -> answer(server, launch.rank(), threads));
            }
            byte[] mine = encode(host + " (" + sources.get(0).getHostAddress() + ")", servers);
            List<Place> places = group.outOfBand().allGather(mine, SLACK.plus(options.initTimeout())).stream()
                    .map(PeerProbe::decodePlace)
                    .toList();
            List<Attempt> attempts = new PeerProbe(launch.rank(), sources).attempts(places);
            int maxAddresses =
                    places.stream().mapToInt(place -> place.addresses().size()).sum();
            Duration limit =
                    SLACK.plusMillis((long) (CONNECT_MILLIS + 4 * LARGE_MILLIS) * (1 + maxAddresses / THREADS));
            List<Attempt> all = new ArrayList<>();
            for (byte[] one : group.outOfBand().allGather(encode(attempts), limit)) {
                all.addAll(decodeAttempts(one));
            }
            return new Result(places, all);
        } catch (IOException e) {
            throw new UncheckedIOException("rank " + launch.rank() + " cannot listen: " + Causes.describe(e), e);
        } finally {
            for (ServerSocket server : servers) {
                closeQuietly(server);
            }
            threads.shutdownNow();
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "jccl-doctor");
        thread.setDaemon(true);
        return thread;
    }

    /** Accepts connections and answers each on a thread of its own. */
    private static void answer(ServerSocket server, int rank, Executor threads) {
        while (!server.isClosed()) {
            try {
                Socket client = server.accept();
                threads.execute(() -> answer(client, rank));
            } catch (IOException | RejectedExecutionException e) {
                continue; // the client left, or the server was closed
            }
        }
    }

    /**
     * Sends the number of this rank, then {@link #BEGUN} when the first byte of the large data arrives, then
     * {@link #WHOLE} when all of it has arrived.
     */
    private static void answer(Socket client, int rank) {
        try (client) {
            client.setSoTimeout(CONNECT_MILLIS + 3 * LARGE_MILLIS);
            client.getOutputStream()
                    .write(ByteBuffer.allocate(Integer.BYTES).putInt(rank).array());
            InputStream in = client.getInputStream();
            if (in.readNBytes(1).length == 1) {
                client.getOutputStream().write(BEGUN);
                if (in.readNBytes(LARGE_BYTES - 1).length == LARGE_BYTES - 1) {
                    client.getOutputStream().write(WHOLE);
                }
            }
        } catch (IOException e) {
            return; // the client left
        }
    }

    private static void closeQuietly(Closeable socket) {
        try {
            socket.close();
        } catch (IOException e) {
            return; // nobody uses the socket any more
        }
    }

    private List<Attempt> attempts(List<Place> places) throws IOException {
        List<Callable<Attempt>> tasks = new ArrayList<>();
        for (int peer = 0; peer < places.size(); peer++) {
            for (InetSocketAddress address : places.get(peer).addresses()) {
                InetAddress source = sourceFor(address.getAddress());
                if (peer != rank && source != null) {
                    int to = peer;
                    tasks.add(() -> attempt(to, address, source));
                }
            }
        }
        ExecutorService pool = Executors.newFixedThreadPool(THREADS, PeerProbe::daemon);
        try {
            List<Attempt> attempts = new ArrayList<>();
            for (Future<Attempt> one : pool.invokeAll(tasks)) {
                attempts.add(one.get());
            }
            return attempts;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while connecting", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("an attempt to connect failed in an unexpected way", e.getCause());
        } finally {
            pool.shutdownNow();
        }
    }

    /** Returns the local address that this rank's data would use; null if none has the family of the remote address. */
    private InetAddress sourceFor(InetAddress remote) {
        return sources.stream()
                .filter(one -> one.getClass() == remote.getClass())
                .findFirst()
                .orElse(null);
    }

    private Attempt attempt(int to, InetSocketAddress address, InetAddress source) {
        long begin = System.nanoTime();
        String failure = "";
        String large = "";
        long micros = -1;
        try (Socket socket = new Socket()) {
            socket.bind(new InetSocketAddress(source, 0));
            socket.connect(address, CONNECT_MILLIS);
            socket.setSoTimeout(CONNECT_MILLIS);
            int reached = new DataInputStream(socket.getInputStream()).readInt();
            if (reached != to) {
                failure = "rank " + reached + " answered: two hosts have this address";
            } else {
                micros = (System.nanoTime() - begin) / 1000;
                large = sendLarge(socket);
            }
        } catch (IOException e) {
            failure = text(e);
        }
        return new Attempt(
                rank, to, address, micros >= 0 ? micros : (System.nanoTime() - begin) / 1000, failure, large);
    }

    private static String text(IOException e) {
        return Causes.describe(e);
    }

    /** Sends full-sized packets; returns the reason why they did not arrive, or an empty string if they did. */
    private static String sendLarge(Socket socket) {
        String arrived = "nothing";
        try {
            socket.setSendBufferSize(2 * LARGE_BYTES); // so that writing does not wait for packets to arrive
            socket.setSoTimeout(LARGE_MILLIS);
            CompletableFuture.delayedExecutor(4 * LARGE_MILLIS, TimeUnit.MILLISECONDS)
                    // If the kernel limits the buffer to less, a write may wait forever: closing the socket ends it.
                    .execute(() -> closeQuietly(socket));
            socket.getOutputStream().write(new byte[LARGE_BYTES]);
            InputStream in = socket.getInputStream();
            if (in.read() == BEGUN) {
                arrived = "only a part";
                socket.setSoTimeout(2 * LARGE_MILLIS);
                return in.read() == WHOLE ? "" : "the connection ended";
            }
            return "the connection ended";
        } catch (SocketTimeoutException e) {
            return arrived + " of " + LARGE_BYTES + " bytes arrived in "
                    + (arrived.equals("nothing") ? LARGE_MILLIS : 3 * LARGE_MILLIS) + " ms";
        } catch (IOException e) {
            return text(e);
        }
    }

    private static byte[] encode(String host, List<ServerSocket> servers) {
        List<String> lines = new ArrayList<>(List.of(plain(host)));
        for (ServerSocket server : servers) {
            lines.add(server.getInetAddress().getHostAddress() + "\t" + server.getLocalPort());
        }
        return String.join("\n", lines).getBytes(UTF_8);
    }

    private static Place decodePlace(byte[] text) {
        List<String> lines = Arrays.asList(new String(text, UTF_8).split("\n"));
        List<InetSocketAddress> addresses = lines.subList(1, lines.size()).stream()
                .map(line -> line.split("\t"))
                .map(fields -> new InetSocketAddress(fields[0], Integer.parseInt(fields[1])))
                .toList();
        return new Place(lines.get(0), addresses);
    }

    static byte[] encode(List<Attempt> attempts) {
        List<String> lines = attempts.stream()
                .map(one -> String.join(
                        "\t",
                        Integer.toString(one.from()),
                        Integer.toString(one.to()),
                        one.address().getAddress().getHostAddress(),
                        Integer.toString(one.address().getPort()),
                        Long.toString(one.micros()),
                        plain(one.failure()),
                        plain(one.large())))
                .toList();
        return String.join("\n", lines).getBytes(UTF_8);
    }

    static List<Attempt> decodeAttempts(byte[] text) {
        List<Attempt> attempts = new ArrayList<>();
        for (String line : new String(text, UTF_8).split("\n")) {
            if (!line.isEmpty()) {
                String[] fields = line.split("\t", -1);
                attempts.add(new Attempt(
                        Integer.parseInt(fields[0]),
                        Integer.parseInt(fields[1]),
                        new InetSocketAddress(fields[2], Integer.parseInt(fields[3])),
                        Long.parseLong(fields[4]),
                        fields[5],
                        fields[6]));
            }
        }
        return attempts;
    }

    private static String plain(String text) {
        String line = text.replaceAll("\\s+", " ");
        return line.substring(0, Math.min(line.length(), MAX_CHARS));
    }
}
