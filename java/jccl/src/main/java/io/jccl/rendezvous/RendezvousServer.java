package io.jccl.rendezvous;

import io.jccl.BootstrapException;
import io.jccl.UniqueId;
import io.jccl.control.CoordinatorServer;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.Limits;
import io.jccl.wire.Server;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.io.Closeable;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rendezvous server of one group. Sends the ranks the address of rank 0's {@link CoordinatorServer} when all have
 * come. A rank keeps its connection until the coordinator has admitted it; a rank that leaves earlier fails the group
 * for all. The server ends by itself when all ranks have met and left, or when no rank has come or gone for as long as
 * the initialisation time-out. Uses one thread.
 */
public final class RendezvousServer implements Closeable, Server.Service {

    private static final Logger LOG = LoggerFactory.getLogger(RendezvousServer.class);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int LINGER_SECONDS = 5;
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(LINGER_SECONDS);
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /**
     * The part of a rendezvous server that is needed only if the server reforms a communicator. Used only by the
     * server's thread.
     */
    public interface Reform {

        /** Returns the number of ranks of the new communicator. */
        int size();

        /** Returns the processes that join. */
        RankRegistration.Joiners joiners();

        /** Begins one attempt; called before the server starts. */
        void begin(RendezvousServer rendezvous, Server ofRanks, RankRegistration ofServer, byte[] secret, long now);

        /** Returns the ranks of the old group, and the number of joining processes, that have not come yet. */
        AwaitedRanks.Waiting awaited();

        /**
         * Returns true if the server must register a rank for this attempt. Otherwise this object answers the rank, or
         * the rank waits.
         */
        boolean admits(FrameLink link, RankRegistration.Hello hello, long now);

        /** Registers the processes that join, if all ranks and all these processes have come. */
        void admitIfAllCame();

        /** Notes that the group is initialised. */
        public void complete();

        /** Does the work that is due at the given time. */
        void tick(long now);

        /** Returns the nanoseconds between two calls of {@link #tick}. */
        long tickNanos();
    }

    private final Server server;
    private final RankRegistration registration;
    private final LongSupplier clock;
    private final long idleLimitNanos;
    private final Reform reform; // null if the group does not replace another
    // true if the server is in the process of rank 0, so that its addresses lead to the coordinator, too
    private final boolean isOfRankZero;
    private long lastLogNanos;
    private long endNanos;
    private boolean welcomed;

    /**
     * Starts a rendezvous server.
     *
     * @param address the only address to listen on, or null for all
     * @param port 0 for any free port
     * @throws BootstrapException if the port is not available
     */
    private RendezvousServer(
            BootstrapOptions options, InetAddress address, int port, byte[] secret, boolean isOfRankZero) {
        this(options, Server.listening(new InetSocketAddress(address, port)), true, secret, null, isOfRankZero);
    }

    /**
     * Starts a rendezvous server in the process of rank 0.
     *
     * @param address the only address to listen on, or null for all
     * @throws BootstrapException if the port is not available
     */
    public static RendezvousServer ofRankZero(BootstrapOptions options, InetAddress address, int port, byte[] secret) {
        return new RendezvousServer(options, address, port, secret, true);
    }

    /**
     * Starts a rendezvous server that reforms a communicator.
     *
     * @param acceptor the channel that listens; stays open when the server ends
     * @param reform the part of the server that reforms
     */
    public RendezvousServer(BootstrapOptions options, ServerSocketChannel acceptor, byte[] secret, Reform reform) {
        this(options, acceptor, false, secret, reform, false);
    }

    private RendezvousServer(
            BootstrapOptions options,
            ServerSocketChannel acceptor,
            boolean ownsAcceptor,
            byte[] secret,
            Reform reform,
            boolean isOfRankZero) {
        this.isOfRankZero = isOfRankZero;
        registration = reform == null
                ? new RankRegistration(options.version(), 0)
                : new RankRegistration(options.version(), reform.size(), reform.joiners());
        idleLimitNanos = options.initTimeout().toNanos() + LINGER_NANOS;
        clock = options.clock();
        lastLogNanos = clock.getAsLong();
        endNanos = lastLogNanos + idleLimitNanos;
        this.reform = reform;
        Handshake.Key key =
                new Handshake.Key(Handshake.Purpose.RENDEZVOUS, secret, options.generation(), options.encrypted());
        server = new Server(key, acceptor, ownsAcceptor, options.clock(), this);
        if (reform != null) {
            reform.begin(this, server, registration, secret, lastLogNanos);
        }
        AwaitedRanks.add(server.reactor(), this::awaited);
        server.reactor().onBreakDown(this::breakDown);
        server.keepSpareDescriptor();
        server.start();
    }

    /**
     * Fails initialisation after an error of the JVM has interrupted the server at any point: ranks must not wait for
     * it.
     */
    private void breakDown(Throwable error) {
        endNanos = clock.getAsLong() + LINGER_NANOS;
        registration.fail(
                RankRegistration.Cause.REFUSED,
                List.of(),
                "the rendezvous server cannot go on after an error of its JVM: " + error);
    }

    private AwaitedRanks.Waiting awaited() {
        if (welcomed || registration.failed()) {
            return AwaitedRanks.Waiting.NOTHING;
        }
        return reform == null
                ? registration.awaited("the rendezvous server waits for ranks to register")
                : reform.awaited();
    }

    /**
     * Starts a rendezvous server on any free port of the interfaces that the options choose.
     *
     * @return the server, and the id by which the ranks find it
     */
    public static Started open(BootstrapOptions options) {
        List<InterfaceCandidate> candidates = NetworkInterfaces.usable(options);
        byte[] secret = Handshake.randomBytes(UniqueId.SECRET_BYTES);
        RendezvousServer server =
                new RendezvousServer(options, NetworkInterfaces.bindAddress(candidates), 0, secret, false);
        List<InetSocketAddress> addresses =
                NetworkInterfaces.withPort(candidates, server.port(), UniqueId.MAX_ADDRESSES);
        return new Started(server, UniqueId.of(addresses, secret));
    }

    /** A rendezvous server and the id by which ranks find it. */
    public record Started(RendezvousServer server, UniqueId id) {}

    int port() {
        return server.port();
    }

    /** Returns the number of bytes that this server has sent. */
    public long sentBytes() {
        return server.reactor().sentBytes();
    }

    @Override
    public void onFrame(FrameLink link, FrameType type, WireReader body) {
        endNanos = clock.getAsLong() + idleLimitNanos;
        switch (type) {
            case HELLO -> {
                RankRegistration.Hello hello = RankRegistration.Hello.read(body);
                boolean mine = reform == null || reform.admits(link, hello, clock.getAsLong());
                if (mine && !welcomed) {
                    registration.join(link, hello);
                    LOG.debug("rank={} has come: size={} port={}", hello.rank(), hello.size(), server.port());
                    welcomeIfAllCame();
                }
            }
            case FIN -> {
                body.end();
                registration.forget(link);
                link.close();
                endIfAllLeft();
            }
            case GIVE_UP -> {
                String text = body.text(Limits.MAX_TEXT);
                body.end();
                registration.giveUp(link, text);
                endNanos = clock.getAsLong() + LINGER_NANOS;
            }
            case REPORT -> {
                String why = body.text(Limits.MAX_TEXT);
                body.end();
                registration.leave(link, why);
            }
            default -> throw new WireException("frame=" + type + ": the rendezvous server does not accept it");
        }
    }

    /** Welcomes all ranks if all have come. Called after a rank, or a process that joins, has come. */
    public void welcomeIfAllCame() {
        if (welcomed || registration.failed()) {
            return;
        }
        if (reform != null) {
            reform.admitIfAllCame();
        }
        if (!registration.complete()) {
            return;
        }
        welcomed = true;
        WireWriter content = new WireWriter().blob(isOfRankZero ? offerByArrival() : registration.blob(0));
        for (FrameLink link : registration.links()) {
            link.send(FrameType.WELCOME, content);
        }
        LOG.debug("all ranks have met: size={} port={}", registration.size(), server.port());
    }

    /**
     * Returns rank 0's offer with one address moved to the front: the address by which most ranks came from other
     * hosts. That address reaches rank 0, even if rank 0's host resolves its own name to another address.
     */
    private byte[] offerByArrival() {
        byte[] offer = registration.blob(0);
        Map<InetAddress, Long> arrivals = registration.links().stream()
                .filter(link -> !link.isInsideHost())
                .collect(Collectors.groupingBy(FrameLink::localAddress, Collectors.counting()));
        Optional<InetAddress> most =
                arrivals.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey);
        return most.isEmpty() || offer.length == 0
                ? offer
                : CoordinatorAddress.decode(offer).preferring(most.get()).encode();
    }

    /**
     * Fails initialisation if the rank whose link has closed still needed the server. Once all ranks have met, they
     * learn of such a failure from rank 0's coordinator instead.
     */
    @Override
    public void onClosed(FrameLink link, String why) {
        registration.lose(link, why);
        if (welcomed) {
            endIfAllLeft();
        } else if (registration.failed() && reform == null) {
            endNanos = clock.getAsLong() + LINGER_NANOS;
        }
    }

    private void endIfAllLeft() {
        if (!welcomed || !registration.isEmpty()) {
            return;
        }
        if (reform == null) {
            server.close(); // this is the server's own thread, which ends after this turn
        } else {
            reform.complete();
        }
    }

    /** Notes that the group is initialised. Safe for use by any thread. */
    public void complete() {
        server.reactor().execute(reform::complete);
    }

    /** Sends the failure to all registered ranks, and to ranks that register later. Safe for use by any thread. */
    public void fail(RankRegistration.Cause cause, Collection<Integer> ranks, String text) {
        server.reactor().execute(() -> {
            endNanos = clock.getAsLong() + LINGER_NANOS;
            registration.fail(cause, ranks, text);
        });
    }

    /** Runs a task on this server's thread. For tests of errors on that thread. */
    public void onThread(Runnable task) {
        server.reactor().execute(task);
    }

    @Override
    public long onTick(long now) {
        if (reform != null) {
            reform.tick(now);
        }
        if (now - endNanos >= 0) {
            server.close();
        } else if (now - lastLogNanos >= LOG_NANOS) {
            lastLogNanos = now;
            String progress = registration.progress();
            if (!progress.isEmpty() && !registration.failed()) {
                LOG.info("{}", progress);
            }
        }
        return reform == null ? TICK_NANOS : reform.tickNanos();
    }

    @Override
    public void onOtherEncryption(String text) {
        endNanos = clock.getAsLong() + LINGER_NANOS;
        registration.fail(RankRegistration.Cause.REFUSED, List.of(), text);
    }

    @Override
    public void onExhausted(String why) {
        fail("the rendezvous server, in the process that created the id, cannot meet the ranks: " + why);
    }

    /**
     * Tells the registered ranks, and ranks that register within {@value #LINGER_SECONDS} s, why no group is formed.
     * Then the server ends.
     */
    public void refuse(String why) {
        server.reactor().execute(() -> fail(why));
    }

    private void fail(String why) {
        registration.fail(RankRegistration.Cause.REFUSED, List.of(), why);
        endNanos = clock.getAsLong() + LINGER_NANOS;
    }

    @Override
    public void close() {
        server.close();
    }
}
