package io.jccl.control;

import io.jccl.BootstrapException;
import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.ErrorFrame;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.GroupLink;
import io.jccl.wire.Handshake;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Link;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One rank's connection to the {@link CoordinatorServer} for the life of its communicator. Reads on one thread,
 * dispatches frames to {@link OutOfBandChannel} and {@link Control}, passes answers on through its {@link Relay}, sends
 * heartbeats, and notices when the coordinator's heartbeats stop. Groups that were split off share the connection, but
 * nothing else.
 */
public final class CoordinatorConnection implements Closeable, SharedConnection.Group, Relay.Receiver {

    private static final Logger LOG = LoggerFactory.getLogger(CoordinatorConnection.class);

    /**
     * Time limit for the answer to a FIN. Before the answer, the other ranks have one second to enter the operations
     * that this rank has entered, and one second to report their calls.
     */
    private static final long FIN_MILLIS = 3000;

    /**
     * The heartbeat time-out divided by this number is the time after which a rank asks the coordinator for an answer
     * that other ranks should have passed on.
     */
    private static final int BYPASS = 20;

    private final LongSupplier clock;
    private final long intervalNanos;
    private final long timeoutNanos;
    private final InetAddress localAddress;
    private final Reactor reactor;
    private final SharedConnection shared;
    private final long number; // of the group
    private final int[] sharedRanks; // the group's ranks by their numbers in the group that made the connection
    private final Relay relay; // null if the group has no relays
    private final byte[] above; // the addresses of the rank that passes answers to this rank
    private Reactor.Ticker ticker; // used by the reactor's thread
    private final Link link;
    private final OutOfBandChannel outOfBand;
    private final Control control;
    private final CountDownLatch finAcked = new CountDownLatch(1);
    private final Standstill standstill;
    private final String breakDownText;
    private final ErrorFrame breakDownReport;
    private final HeartbeatFrame heartbeat;
    private volatile long heardAt; // silence before this time does not count; written by the reactor's thread
    private long lastHeartbeat;
    private long lastRelayed; // the number of the last answer that this rank passed on
    private volatile boolean closing;
    private volatile boolean cutOff;

    /**
     * Connects a rank to the coordinator and waits until all ranks have connected.
     *
     * @param rendezvous the connection to the rendezvous server. It breaks when that server's process ends. On it the
     *     server reports ranks that leave before all have met
     * @param isHere true if the coordinator is in this process; the coordinator then reads from {@code rendezvous}
     *     itself
     * @param local this host's address that reached the rendezvous server; null if other hosts cannot use it
     * @param shared a reactor to run on; null for a reactor of this rank's own
     */
    public static CoordinatorConnection join(
            Connector.ServerAddress server,
            RankRegistration.Hello hello,
            FrameStream rendezvous,
            boolean isHere,
            InetAddress local,
            Reactor shared,
            BootstrapOptions options,
            long deadline) {
        int rank = hello.rank();
        String who = "rank " + rank;
        Reactor reactor = shared != null ? shared : new Reactor("jccl-control-" + rank, options.clock());
        Relay relay = new Relay(rank, hello.size(), reactor, server.secret(), options);
        CoordinatorConnection[] made = new CoordinatorConnection[1];
        try {
            if (shared == null) {
                // The thread starts before all ranks have met: afterwards, rank 0 could not report that the thread
                // failed to start.
                reactor.start();
            }
            RankRegistration.Hello relaying = hello.with(relay.listen(local));
            Connector connector = new Connector(
                            Handshake.Purpose.COORDINATOR,
                            who,
                            false,
                            Connector.IfRefused.RANK_ZERO_ENDED,
                            options.generation())
                    .encrypting(options.encrypted());
            if (!isHere) {
                connector.withWitness(() -> rendezvous.hasEnded(who, hello.size()));
            }
            FrameStream stream = connector.connect(() -> server, deadline);
            try {
                long initMillis = options.initTimeout().toMillis();
                byte[] above = stream.awaitWelcome(who, relaying, true, initMillis, deadline);
                reactor.invoke(() -> {
                    made[0] = first(hello, stream, reactor, shared == null, relay, above, options);
                    made[0].start();
                });
            } finally {
                if (made[0] == null) {
                    stream.close();
                }
            }
            return made[0];
        } finally {
            if (made[0] == null && shared == null) {
                reactor.close();
            } else if (made[0] == null) {
                reactor.execute(relay::close);
            }
        }
    }

    /**
     * Takes over the connection of a rank that has been welcomed. Called on the reactor's thread, or before that thread
     * starts.
     */
    private static CoordinatorConnection first(
            RankRegistration.Hello hello,
            FrameStream stream,
            Reactor reactor,
            boolean ownsReactor,
            Relay relay,
            byte[] above,
            BootstrapOptions options) {
        int rank = hello.rank();
        InetAddress local = stream.localAddress();
        try {
            SharedConnection connection = new SharedConnection(
                    reactor, ownsReactor, options.clock(), owner -> new FrameLink(reactor, stream.release(), owner));
            int[] ranks = IntStream.range(0, hello.size()).toArray();
            return new CoordinatorConnection(connection, GroupLink.FIRST, rank, ranks, local, relay, above, options);
        } catch (IOException e) {
            throw new BootstrapException("rank=" + rank + ": lost the connection to rank 0: " + Causes.describe(e), e);
        }
    }

    /**
     * Enters a group of some ranks of this group, which uses this group's connection. Rank 0 of both groups is the same.
     * All ranks of the new group call this at about the same time.
     *
     * @param ofGroup identifies the group; not {@link GroupLink#FIRST}
     * @param rank this rank in the new group
     * @param ranks the ranks of the new group, in its order, by their numbers in this group
     * @throws BootstrapException if the connection is closed
     */
    public CoordinatorConnection enter(long ofGroup, int rank, List<Integer> ranks, BootstrapOptions options) {
        int[] known = ranks.stream().mapToInt(one -> sharedRanks[one]).toArray();
        CoordinatorConnection entered =
                new CoordinatorConnection(shared, ofGroup, rank, known, localAddress, null, new byte[0], options);
        reactor.execute(entered::start);
        WireWriter content = new WireWriter().i32(known.length);
        for (int one : known) {
            content.i32(one);
        }
        entered.send(FrameType.ENTER, content);
        return entered;
    }

    private CoordinatorConnection(
            SharedConnection shared,
            long number,
            int rank,
            int[] sharedRanks,
            InetAddress localAddress,
            Relay relay,
            byte[] above,
            BootstrapOptions options) {
        int size = sharedRanks.length;
        clock = options.clock();
        intervalNanos = options.heartbeatInterval(size).toNanos();
        timeoutNanos = options.heartbeatTimeout().toNanos();
        this.localAddress = localAddress;
        heardAt = clock.getAsLong();
        standstill = new Standstill(timeoutNanos, heardAt);
        lastHeartbeat = heardAt;
        breakDownText = "rank=" + rank + " cannot go on after an error of its JVM: ";
        breakDownReport = new ErrorFrame(
                FrameType.REPORT,
                new WireWriter().u8(ReportKind.ABORT.ordinal()).i64(0).i64(0).toBytes(),
                breakDownText,
                new byte[0]);
        this.reactor = shared.reactor();
        this.shared = shared;
        this.number = number;
        this.sharedRanks = sharedRanks;
        this.relay = relay;
        this.above = above;
        outOfBand = new OutOfBandChannel(rank, size, timeoutNanos / BYPASS, this::send);
        control = new Control(rank, new Control.Output() {
            @Override
            public void send(FrameType type, WireWriter content) {
                CoordinatorConnection.this.send(type, content);
            }

            @Override
            public boolean coordinatorIsSilent() {
                return clock.getAsLong() - heardAt() >= timeoutNanos / 2;
            }

            @Override
            public void failed(FailureReport report) {
                outOfBand.fail(report::toException);
            }

            @Override
            public void breakDown(Throwable error) {
                reactor.breakDown(error);
            }
        });
        heartbeat = new HeartbeatFrame(control);
        link = shared.add(number, this);
    }

    /** Begins the regular work. Called on the reactor's thread, or before that thread starts. */
    private void start() {
        ticker = reactor.every(this::tick);
    }

    /** Returns the time at which the coordinator was last heard. */
    private long heardAt() {
        long ofConnection = shared.heardAt();
        return ofConnection - heardAt > 0 ? ofConnection : heardAt;
    }

    /** Connects this rank to the rank from which it receives the answers of gathers. Blocks. */
    public void joinRelays(RankRegistration.Hello hello, long deadline) {
        relay.connect(hello, above, this, deadline);
    }

    public OutOfBandChannel outOfBand() {
        return outOfBand;
    }

    public Control control() {
        return control;
    }

    /** Returns true if this rank lost the coordinator while the other ranks may still be connected to it. */
    public boolean wasCutOff() {
        return cutOff;
    }

    public InetAddress localAddress() {
        return localAddress;
    }

    private long tick(long now) {
        long gap = standstill.tick(now);
        if (gap > timeoutNanos / 2) {
            heardAt = heardAt() + gap; // this process itself was stopped, so the coordinator's silence proves nothing
        }
        if (now - lastHeartbeat >= intervalNanos) {
            lastHeartbeat = now;
            sendShort(heartbeat.next());
        }
        if (!closing && now - heardAt() >= timeoutNanos) {
            endSilentConnection(now);
        }
        return intervalNanos;
    }

    private void send(FrameType type, WireWriter content) {
        link.send(type, content);
    }

    /**
     * Sends a short frame from a buffer that is used again. Allocates nothing unless earlier frames wait to be sent.
     */
    private void sendShort(ByteBuffer frame) {
        if (!link.sendShort(frame)) {
            link.send(ByteBuffer.allocate(frame.remaining()).put(frame).flip());
        }
    }

    @Override
    public void onFrame(FrameType type, WireReader body) {
        switch (type) {
            case ASK -> sendShort(heartbeat.next());
            case HEARTBEAT -> {
                outOfBand.onHeartbeat(body.i64(), heardAt());
                control.noteEnteredByAllOnDevice(body.i64());
                body.end();
            }
            case GATHERED -> gathered(body);
            case GATHER_MISSING -> outOfBand.onGatherMissing(body);
            case MESSAGE -> outOfBand.onMessage(body);
            case QUERY -> control.query(body.i64(), body.i64(), body.flag());
            case FAILURE -> control.decide(Codecs.decodeFailure(body, outOfBand.size()));
            case LEFT -> control.left(LastEntered.read(body));
            case FIN_ACK -> finAcked.countDown();
            case CLOSED -> lost("it closed the communicator");
            default -> throw new WireException("frame=" + type + ": a rank does not accept it");
        }
    }

    @Override
    public void gathered(WireReader body) {
        WireReader whole = body.copy();
        long number = body.i64();
        if (body.flag() && number > lastRelayed && relay != null) {
            lastRelayed = number;
            relay.passOn(whole);
        }
        outOfBand.onGathered(number, body);
    }

    @Override
    public void unrelayed() {
        if (!closing) {
            send(FrameType.UNRELAYED, new WireWriter().i64(lastRelayed));
        }
    }

    /**
     * Fails the communicator after an error of the JVM has interrupted this rank's control at any point. Begins with
     * the steps that need no memory.
     *
     * @throws Error if this method must be called again
     */
    @Override
    public void brokenDown(Throwable error) {
        if (closing) {
            return;
        }
        control.stopOperations();
        sendShort(breakDownReport.of(error));
        String text = breakDownText + error;
        control.brokenDown(text, error);
        outOfBand.fail(() -> new JcclException(text, error));
    }

    @Override
    public void onClosed(String why) {
        lost(why);
    }

    private void lost(String why) {
        finAcked.countDown();
        if (closing) {
            return;
        }
        long millis = standstill.millis(clock.getAsLong());
        if (millis > 0) {
            // The connection is gone because this process stood still, so this rank has failed, not rank 0.
            cutOff = true;
            control.decide(FailureReport.gone(
                    FailureReport.Kind.PEER_FAILED,
                    Set.of(outOfBand.rank()),
                    0,
                    Standstill.text(outOfBand.rank(), millis)));
        }
        control.coordinatorLost(why);
        outOfBand.fail(() -> new BootstrapException(
                "rank=" + outOfBand.rank() + ": rank 0 has closed its communicator, and with it this network"));
    }

    /**
     * Closes the connection to a silent coordinator. Other ranks may still hear the coordinator, so this rank is cut
     * off.
     */
    private void endSilentConnection(long now) {
        String why = "silent for " + TimeUnit.NANOSECONDS.toMillis(now - heardAt())
                + " ms, longer than the heartbeat time-out" + StalledConnections.hint();
        cutOff = true;
        link.close();
        lost(why);
        heardAt = now; // so that the next tick does not do this again
    }

    /** Sends a FIN, waits for the answer and closes. The answer takes at most two seconds if the coordinator lives. */
    @Override
    public void close() {
        closing = true;
        send(FrameType.FIN, control.position().write(new WireWriter()));
        try {
            if (!reactor.onThread() && !finAcked.await(FIN_MILLIS, TimeUnit.MILLISECONDS)) {
                LOG.debug("rank={}: the coordinator did not acknowledge the FIN", outOfBand.rank());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        release();
        outOfBand.fail(() -> new BootstrapException("rank=" + outOfBand.rank() + ": this communicator is closed"));
    }

    /** Closes without a FIN. */
    public void die() {
        closing = true;
        release();
    }

    private void release() {
        if (number != GroupLink.FIRST) {
            link.close();
        }
        shared.leave(number, () -> {
            ticker.end();
            if (relay != null) {
                relay.close();
            }
        });
    }

    public void loseRelays() {
        reactor.invoke(relay::close);
    }

    public void execute(Runnable task) {
        reactor.execute(task);
    }
}
