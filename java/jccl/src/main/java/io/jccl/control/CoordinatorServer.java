package io.jccl.control;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.ErrorFrame;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.Server;
import io.jccl.wire.SessionKeys;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server in rank 0's process to which every rank, including rank 0, keeps one connection for the life of the
 * communicator. Forwards messages, answers gathers ({@link OutOfBand}) and runs the {@link Coordinator}. Uses one
 * thread.
 */
public final class CoordinatorServer implements Closeable, Server.Service {

    private static final Logger LOG = LoggerFactory.getLogger(CoordinatorServer.class);

    /**
     * Time limit for a task on the coordinator's thread. Even a thread that gets no CPU for a while finishes in time;
     * only a thread that an error or a fault has stopped takes longer.
     */
    private static final long TASK_MILLIS = 1000;

    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long FAILED_CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int size;
    private final Server server;
    private final LongSupplier clock;
    private final BootstrapOptions options;
    private final long heartbeatIntervalNanos;
    private final RankRegistration registration;
    private final Standstill standstill;
    private final PendingGathers gathers;
    private final GatherAnswers answers;
    private final CountDownLatch everybodyLeft = new CountDownLatch(1);
    // counted down when all ranks were sent the reason why there will be no group
    private final CountDownLatch allNotified = new CountDownLatch(1);
    private final ByteBuffer ask = FrameLink.encode(FrameType.ASK, new byte[0]);
    private final ByteBuffer heartbeat = ByteBuffer.allocateDirect(FrameType.HEADER_BYTES + Long.BYTES)
            .putInt(Long.BYTES)
            .put((byte) FrameType.HEARTBEAT.ordinal());
    private final ErrorFrame breakDownFailure = new ErrorFrame(
            FrameType.FAILURE,
            Codecs.abortedBeforeText(),
            "the coordinator on rank 0 cannot go on after an error of its JVM: ",
            Codecs.noRows());
    private RankLinks links; // null until all ranks have registered
    private FrameLink rendezvous; // rank 0's connection to the rendezvous server, until all ranks have registered
    private Coordinator coordinator;
    private boolean brokenDown; // true after a breakdown, when the coordinator must not be called any more
    private long lastHeartbeat;
    private boolean lingers; // true if the server will close at endNanos
    private volatile boolean failed; // true if the ranks were sent an agreed failure
    private long endNanos;

    /** Starts a coordinator for a group of the given size. Listens on one address or, if it is null, on all. */
    public CoordinatorServer(BootstrapOptions options, InetAddress address, byte[] secret, int size) {
        this.size = size;
        this.options = options;
        this.heartbeatIntervalNanos = options.heartbeatInterval(size).toNanos();
        this.clock = options.clock();
        this.standstill = new Standstill(options.heartbeatTimeout().toNanos(), clock.getAsLong());
        this.registration = new RankRegistration(options.version(), size);
        this.gathers = new PendingGathers(size);
        this.answers = new GatherAnswers(size);
        this.server = new Server(
                new Handshake.Key(Handshake.Purpose.COORDINATOR, secret, options.generation()),
                address,
                0,
                clock,
                this);
        byte[] session = SessionKeys.sessionId(secret);
        AwaitedRanks.add(server.reactor(), () -> awaited(SessionKeys.name(session)));
        server.reactor().onBreakDown(this::breakDown);
        server.keepSpareDescriptor();
        server.start();
    }

    private AwaitedRanks.Waiting awaited(String communicator) {
        if (failed) {
            return AwaitedRanks.Waiting.NOTHING;
        }
        return coordinator == null
                ? registration.awaited("the coordinator waits for ranks to connect")
                : new AwaitedRanks.Waiting(
                        communicator, "an exchange of the control plane waits for ranks", size, gathers.awaited());
    }

    public int port() {
        return server.port();
    }

    /** Returns the number of bytes that this server has sent. */
    public long sentBytes() {
        return server.reactor().sentBytes();
    }

    /**
     * Fails the communicator on all ranks after an error of the JVM has interrupted the coordinator at any point. Needs
     * no memory once all ranks have met.
     */
    private void breakDown(Throwable error) {
        if (coordinator == null) {
            registration.fail(
                    RankRegistration.Cause.REFUSED,
                    List.of(),
                    "the coordinator on rank 0 cannot go on after an error of its JVM: " + error);
            return;
        }
        brokenDown = true;
        if (!failed) {
            links.broadcastShort(breakDownFailure.of(error));
            failed = true;
        }
    }

    /** Handles a frame after a breakdown, when ranks can only leave. */
    private void letLeave(FrameLink link, FrameType type, int rank) {
        if (type == FrameType.FIN) {
            links.remove(rank); // removed before the next calls, because these may throw and are not repeated
            link.send(FrameLink.encode(FrameType.FIN_ACK, new byte[0]));
            link.closeWhenSent();
            endIfAllLeft();
        }
    }

    @Override
    public void onAlive(FrameLink link) {
        int rank = coordinator == null ? -1 : registration.rankOf(link);
        if (rank >= 0) {
            coordinator.heard(rank, clock.getAsLong());
        }
    }

    @Override
    public void onFrame(FrameLink link, FrameType type, WireReader body) {
        if (coordinator == null) {
            register(link, type, body);
            return;
        }
        int rank = registration.rankOf(link);
        if (rank < 0) {
            throw new WireException("frame=" + type + " remote=" + link.remote() + ": the group is complete");
        }
        if (brokenDown) {
            letLeave(link, type, rank);
            return;
        }
        long now = clock.getAsLong();
        switch (type) {
            case HEARTBEAT -> at(rank, Position.read(body, coordinator.position(rank)), now);
            case GATHER -> gather(rank, body);
            case GATHER_LATE -> gatherLate(link, rank, body);
            case UNRELAYED -> {
                if (answers.unrelayed(rank, body.i64())) {
                    link.send(answers.frame());
                }
            }
            case MESSAGE -> message(rank, body);
            case FIN -> coordinator.fin(rank, Position.read(body), now);
            case REPORT -> report(rank, body, now);
            case STATUS -> status(rank, body, now);
            case GIVE_UP -> LOG.debug("rank={} gave up when all had come", rank);
            default -> throw new WireException(
                    "frame=" + type + " rank=" + rank + ": the coordinator does not accept it");
        }
        server.reactor().tickSoon();
    }

    /**
     * Notes a rank's position. Unlike the rest of a heartbeat's handling, this cannot be repeated, so an error breaks
     * the server down.
     */
    private void at(int rank, Position position, long now) {
        try {
            coordinator.heartbeat(rank, position, now);
        } catch (Error e) {
            server.reactor().breakDown(e);
        }
    }

    /** Takes over rank 0's connection to the rendezvous server, and closes it when all ranks have registered. */
    public void listenTo(FrameStream toServer) {
        server.reactor().execute(() -> {
            try {
                rendezvous = new FrameLink(server.reactor(), toServer.release(), new FromRendezvous());
                if (coordinator != null) {
                    leaveRendezvous();
                }
            } catch (IOException e) {
                // This failure is harmless: the connection was only needed to learn of ranks that leave.
                LOG.debug("the rendezvous server is gone: {}", e.toString());
            }
        });
    }

    private void leaveRendezvous() {
        if (rendezvous != null) {
            rendezvous.send(FrameType.FIN, new WireWriter());
            rendezvous.closeWhenSent();
        }
    }

    private final class FromRendezvous implements FrameLink.Owner {

        @Override
        public void onFrame(FrameLink link, FrameType type, WireReader body) {
            if (type != FrameType.FAILED) {
                throw new WireException("frame=" + type + ": not expected from the rendezvous server by now");
            }
            RankRegistration.Cause cause = body.constant(RankRegistration.Cause.class);
            SortedSet<Integer> ranks = body.ranks(size);
            if (coordinator == null) {
                registration.fail(cause, ranks, body.text(Limits.MAX_TEXT));
            }
        }

        @Override
        public void onClosed(FrameLink link, String why) {
            LOG.debug("the rendezvous server is gone: {}", why);
        }
    }

    @Override
    public void onExhausted(String why) {
        refuse("the coordinator, in the process of rank 0, cannot meet the ranks: " + why);
    }

    /**
     * Tells the ranks that have registered, and those that register later, why there will be no group. Does nothing
     * once all ranks have registered.
     */
    public void refuse(String why) {
        execute(() -> {
            if (coordinator == null) {
                // If the process has no other file descriptor left, later ranks can be accepted with this one.
                server.releaseSpareDescriptor();
                registration.fail(RankRegistration.Cause.REFUSED, List.of(), why);
                countDownIfAllNotified();
            }
        });
    }

    private void countDownIfAllNotified() {
        if (registration.hasNotifiedAllBut(0, size)) {
            allNotified.countDown();
        }
    }

    /**
     * Waits until all other ranks have registered and were sent the reason given to {@link #refuse}. Returns false if
     * that takes longer than {@code millis}.
     */
    public boolean awaitAllNotified(long millis) {
        return await(allNotified, millis);
    }

    private void register(FrameLink link, FrameType type, WireReader body) {
        if (type == FrameType.HELLO) {
            if (registration.join(link, RankRegistration.Hello.read(body))) {
                begin();
            }
            countDownIfAllNotified();
        } else if (type == FrameType.GIVE_UP) {
            String text = body.text(Limits.MAX_TEXT);
            body.end();
            registration.giveUp(link, text);
        } else {
            throw new WireException("frame=" + type + ": the group is not complete yet");
        }
    }

    private void begin() {
        leaveRendezvous();
        server.releaseSpareDescriptor();
        List<FrameLink> all = registration.links();
        links = new RankLinks(all);
        long now = clock.getAsLong();
        lastHeartbeat = now;
        coordinator = new Coordinator(
                size,
                options.queryTimeout().toNanos(),
                options.heartbeatTimeout().toNanos(),
                now,
                new FrameOutput());
        for (int rank = 0; rank < size; rank++) {
            links.of(rank).allowLongFrames();
            links.send(rank, FrameType.WELCOME, new WireWriter().blob(registration.blob(Relay.above(rank))));
        }
    }

    private void gather(int rank, WireReader body) {
        long number = body.i64();
        byte[] part = body.blob(OutOfBand.MAX_PAYLOAD_BYTES);
        body.end();
        byte[][] parts = gathers.add(rank, number, part);
        if (parts == null) {
            checkNeeded();
            return;
        }
        answers.answer(number, parts);
        for (int one = 0; one < size; one++) {
            if (answers.isDirectTo(one)) {
                links.send(one, answers.frame());
            }
        }
    }

    /** Fails the communicator if a gather waits for a rank that has left: the gather would wait for ever. */
    private void checkNeeded() {
        if (coordinator.departed().isEmpty()) {
            return; // the usual case, which must be fast: this method runs for every part of every gather
        }
        SortedSet<Integer> gone = new TreeSet<>(gathers.awaited());
        gone.retainAll(coordinator.departed());
        if (!gone.isEmpty()) {
            coordinator.gatherAwaits(gone);
        }
    }

    private void gatherLate(FrameLink link, int rank, WireReader body) {
        long number = body.i64();
        boolean last = body.flag();
        body.end();
        if (answers.asks(rank, number, last)) {
            link.send(answers.frame());
        } else if (last) {
            link.send(FrameType.GATHER_MISSING, new WireWriter().i64(number).ranks(gathers.missing(number)));
        }
    }

    private void message(int rank, WireReader body) {
        int receiver = body.i32In("receiver", 0, size - 1);
        int tag = body.i32();
        byte[] content = body.blob(OutOfBand.MAX_PAYLOAD_BYTES);
        body.end();
        links.send(
                receiver, FrameType.MESSAGE, new WireWriter().i32(rank).i32(tag).blob(content));
    }

    private void report(int rank, WireReader body, long now) {
        ReportKind kind = body.constant(ReportKind.class);
        long sequence = body.i64();
        long waitedMillis = body.i64();
        String text = body.text(Limits.MAX_TEXT);
        body.end();
        coordinator.report(rank, kind, sequence, waitedMillis, "rank " + rank + " reports: " + text, now);
    }

    private void status(int rank, WireReader body, long now) {
        long inquiry = body.i64();
        RankStatus status = Codecs.readStatus(body, size);
        body.end();
        if (status.rank() != rank) {
            throw new WireException("rank=" + rank + " answered for rank=" + status.rank());
        }
        coordinator.status(rank, inquiry, status, now);
    }

    private void leave(int rank) {
        links.remove(rank);
        endIfAllLeft();
    }

    private void endIfAllLeft() {
        if (links.isEmpty()) {
            everybodyLeft.countDown();
        }
    }

    @Override
    public void onClosed(FrameLink link, String why) {
        int rank = registration.rankOf(link);
        if (rank < 0) {
            return;
        }
        if (coordinator == null) {
            registration.lose(link, why);
            return;
        }
        leave(rank);
        if (brokenDown) {
            return;
        }
        long now = clock.getAsLong();
        long millis = standstill.millis(now);
        // If this process has just stood still, the rank closed the connection because rank 0 was silent. So rank 0 has
        // failed, not the rank.
        if (millis > 0) {
            coordinator.report(0, ReportKind.GAVE_UP, 0, Standstill.text(0, millis), now);
        }
        coordinator.lost(rank, why, now);
        server.reactor().tickSoon();
    }

    @Override
    public long onTick(long now) {
        standstill.tick(now);
        if (lingers && now - endNanos >= 0) {
            server.close();
        }
        if (coordinator == null) {
            return heartbeatIntervalNanos;
        }
        if (now - lastHeartbeat >= heartbeatIntervalNanos) {
            lastHeartbeat = now;
            links.broadcastShort(heartbeat.clear().putLong(FrameType.HEADER_BYTES, answers.relayedNumber()));
        }
        return brokenDown ? heartbeatIntervalNanos : Math.min(coordinator.tick(now), heartbeatIntervalNanos);
    }

    private final class FrameOutput implements Coordinator.Output {

        @Override
        public void query(int rank, long inquiry, long sequence, boolean withNetwork) {
            links.send(
                    rank,
                    FrameType.QUERY,
                    new WireWriter().i64(inquiry).i64(sequence).flag(withNetwork));
        }

        @Override
        public void ask(int rank) {
            links.send(rank, ask);
        }

        @Override
        public void finAck(int rank) {
            FrameLink link = links.of(rank);
            if (link != null) {
                link.send(FrameLink.encode(FrameType.FIN_ACK, new byte[0]));
                link.closeWhenSent();
                leave(rank);
            }
            checkNeeded();
        }

        @Override
        public void failure(FailureReport agreed) {
            LOG.debug("agreed failure: {}", agreed.describe());
            links.broadcast(FrameLink.encode(FrameType.FAILURE, Codecs.encode(agreed)));
            failed = true;
        }
    }

    /**
     * Closes when every rank has left, or after {@code timeout}. After {@code timeout} or an interrupt, first sends the
     * last operations of rank 0 to the ranks that have not left. After a failure the ranks need the coordinator only
     * until they have received the cause, so the coordinator waits for them at most a second.
     */
    public void closeAfter(Duration timeout, LastEntered lastEntered) {
        boolean interrupted = false;
        long nanos = failed ? Math.min(timeout.toNanos(), FAILED_CLOSE_NANOS) : timeout.toNanos();
        try {
            if (!everybodyLeft.await(nanos, TimeUnit.NANOSECONDS)) {
                sendLeft(lastEntered);
            }
        } catch (InterruptedException e) {
            interrupted = true;
            sendLeft(lastEntered);
        }
        server.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void sendLeft(LastEntered lastEntered) {
        WireWriter left = new WireWriter();
        lastEntered.write(left);
        execute(() -> {
            if (links != null) {
                links.broadcast(FrameLink.encode(FrameType.LEFT, left.toBytes()));
            }
        });
    }

    /** Reports to all ranks that rank 0 gives up. Called before this coordinator is closed. */
    public void giveUp(String text) {
        execute(() -> {
            if (coordinator != null && !brokenDown) {
                coordinator.report(0, ReportKind.GAVE_UP, 0, text, clock.getAsLong());
            }
        });
    }

    /**
     * Runs a task on the coordinator's thread and waits for it, at most a second, even if this thread is interrupted.
     */
    private void execute(Runnable task) {
        CountDownLatch done = new CountDownLatch(1);
        server.reactor().execute(() -> {
            task.run();
            done.countDown();
        });
        if (!await(done, TASK_MILLIS)) {
            LOG.debug("the coordinator's thread is busy; the ranks will report its end as a failure");
        }
    }

    /** Returns false if the time has passed, or this thread is interrupted again during the wait. */
    private static boolean await(CountDownLatch latch, long millis) {
        boolean interrupted = Thread.interrupted();
        try {
            return latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
            return false;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        server.close();
    }

    /** Runs a task on this coordinator's thread. For tests of errors on that thread. */
    public void onThread(Runnable task) {
        server.reactor().execute(task);
    }

    /**
     * Closes the server: at once, or after five seconds if initialisation failed, so that late ranks receive the
     * reason.
     */
    public void closeSoon() {
        execute(() -> {
            if (registration.failed()) {
                endNanos = clock.getAsLong() + LINGER_NANOS;
                lingers = true;
            } else {
                server.close();
            }
        });
    }
}
