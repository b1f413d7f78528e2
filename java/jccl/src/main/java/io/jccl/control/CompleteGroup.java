package io.jccl.control;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.ErrorFrame;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.Link;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The {@link CoordinatorServer}'s group once all ranks have registered. Forwards messages, answers gathers
 * ({@link OutOfBand}), sends heartbeats, and passes the other frames to the {@link Coordinator}. The methods are in the
 * order of the table in {@code docs/agreement.md}. Used only by the server's thread, except {@link #hasFailed}.
 */
final class CompleteGroup implements Coordinator.Output {

    private static final Logger LOG = LoggerFactory.getLogger(CompleteGroup.class);

    /** A heartbeat's content: the last gather whose table relays pass on, and the last collective on a device. */
    private static final int HEARTBEAT_BYTES = 2 * Long.BYTES;

    private final int size;
    private final LongSupplier clock;
    private final long heartbeatIntervalNanos;
    private final Reactor reactor;
    private final Runnable tickSoon;
    private final Runnable whenAllLeft;
    private final RankLinks links;
    private final PendingGathers gathers;
    private final GatherAnswers answers;
    private final Coordinator coordinator;
    private final ByteBuffer ask = FrameLink.encode(FrameType.ASK, new byte[0]);
    private final ByteBuffer heartbeat = ByteBuffer.allocateDirect(FrameType.HEADER_BYTES + HEARTBEAT_BYTES)
            .putInt(HEARTBEAT_BYTES)
            .put((byte) FrameType.HEARTBEAT.ordinal());
    private final ErrorFrame breakDownFailure = new ErrorFrame(
            FrameType.FAILURE, Codecs.abortedBeforeText(), CoordinatorServer.BREAK_DOWN, Codecs.noRows());
    private long lastHeartbeat;
    private boolean brokenDown; // true after a breakdown, when the coordinator must not be called any more
    private volatile boolean failed; // true if the ranks were sent an agreed failure

    /**
     * Takes over the connections of all ranks.
     *
     * @param all the connections in the order of ranks
     * @param hasRelays true if ranks pass on long answers of gathers
     * @param tickSoon makes the next {@link #tick} due
     * @param whenAllLeft is called when no rank is connected any more, perhaps repeatedly
     */
    CompleteGroup(
            List<? extends Link> all,
            BootstrapOptions options,
            boolean hasRelays,
            Reactor reactor,
            Runnable tickSoon,
            Runnable whenAllLeft) {
        this.size = all.size();
        this.clock = options.clock();
        this.heartbeatIntervalNanos = options.heartbeatInterval(size).toNanos();
        this.reactor = reactor;
        this.tickSoon = tickSoon;
        this.whenAllLeft = whenAllLeft;
        this.links = new RankLinks(all);
        this.gathers = new PendingGathers(size);
        this.answers = new GatherAnswers(hasRelays);
        this.lastHeartbeat = clock.getAsLong();
        this.coordinator = new Coordinator(
                size,
                options.queryTimeout().toNanos(),
                options.heartbeatTimeout().toNanos(),
                lastHeartbeat,
                this);
    }

    /** Welcomes all ranks. */
    void welcome(RankRegistration registration) {
        for (int rank = 0; rank < size; rank++) {
            links.send(rank, FrameType.WELCOME, new WireWriter().blob(registration.blob(Relay.above(rank))));
        }
    }

    /** Returns true if the ranks were sent an agreed failure. May be called by any thread. */
    boolean hasFailed() {
        return failed;
    }

    /** Returns the ranks for which gathers wait. */
    AwaitedRanks.Waiting awaited(String communicator) {
        return failed
                ? AwaitedRanks.Waiting.NOTHING
                : new AwaitedRanks.Waiting(
                        communicator, "an exchange of the control plane waits for ranks", size, gathers.awaited());
    }

    /** Notes that a frame of a rank has arrived. Allocates nothing. */
    void onAlive(int rank) {
        coordinator.heard(rank, clock.getAsLong());
    }

    /** Sends the heartbeats that are due. Returns the nanoseconds until the next call is due. */
    long tick(long now) {
        if (now - lastHeartbeat >= heartbeatIntervalNanos) {
            lastHeartbeat = now;
            links.broadcastShort(heartbeat
                    .clear()
                    .putLong(FrameType.HEADER_BYTES, answers.relayedNumber())
                    .putLong(FrameType.HEADER_BYTES + Long.BYTES, coordinator.enteredByAllOnDevice()));
        }
        return brokenDown ? heartbeatIntervalNanos : Math.min(coordinator.tick(now), heartbeatIntervalNanos);
    }

    void onFrame(int rank, FrameType type, WireReader body) {
        if (brokenDown) {
            if (type == FrameType.FIN) {
                letGo(rank);
            }
            return;
        }
        switch (type) {
            case GATHER -> gather(rank, body);
            case GATHER_LATE -> gatherLate(rank, body);
            case UNRELAYED -> unrelayed(rank, body);
            case MESSAGE -> message(rank, body);
            case HEARTBEAT -> heartbeat(rank, body);
            case REPORT -> report(rank, body);
            case FIN -> coordinator.fin(rank, Position.read(body), clock.getAsLong());
            case STATUS -> status(rank, body);
            case GIVE_UP -> LOG.debug("rank={} gave up when all had come", rank);
            case CLOSED -> onClosed(rank, "it closed its communicator without leaving it", 0);
            default -> throw new WireException(
                    "frame=" + type + " rank=" + rank + ": the coordinator does not accept it");
        }
        tickSoon.run();
    }

    private void gather(int rank, WireReader body) {
        long number = body.i64();
        byte[] part = body.blob(OutOfBand.MAX_PAYLOAD_BYTES);
        body.end();
        byte[][] parts = gathers.add(rank, number, part);
        if (parts == null) {
            checkAwaited();
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
    private void checkAwaited() {
        if (coordinator.departed().isEmpty()) {
            return; // the usual case, which must be fast: this method runs for every part of every gather
        }
        SortedSet<Integer> gone = new TreeSet<>(gathers.awaited());
        gone.retainAll(coordinator.departed());
        if (!gone.isEmpty()) {
            coordinator.gatherAwaits(gone);
        }
    }

    private void gatherLate(int rank, WireReader body) {
        long number = body.i64();
        boolean last = body.flag();
        body.end();
        if (answers.asks(rank, number, last)) {
            links.send(rank, answers.frame());
        } else if (last) {
            links.send(
                    rank, FrameType.GATHER_MISSING, new WireWriter().i64(number).ranks(gathers.missing(number)));
        }
    }

    private void unrelayed(int rank, WireReader body) {
        if (answers.unrelayed(rank, body.i64())) {
            links.send(rank, answers.frame());
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

    /**
     * Notes a rank's position. Unlike the rest of a heartbeat's handling, this cannot be repeated, so an error breaks
     * the server down.
     */
    private void heartbeat(int rank, WireReader body) {
        Position position = Position.read(body, coordinator.position(rank));
        try {
            coordinator.heartbeat(rank, position, clock.getAsLong());
        } catch (Error e) {
            reactor.breakDown(e);
        }
    }

    private void report(int rank, WireReader body) {
        ReportKind kind = body.constant(ReportKind.class);
        long sequence = body.i64();
        long waitedMillis = body.i64();
        String text = body.text(Limits.MAX_TEXT);
        body.end();
        coordinator.report(rank, kind, sequence, waitedMillis, "rank " + rank + " reports: " + text, clock.getAsLong());
    }

    private void status(int rank, WireReader body) {
        long inquiry = body.i64();
        RankStatus status = Codecs.readStatus(body, size);
        body.end();
        if (status.rank() != rank) {
            throw new WireException("rank=" + rank + " answered for rank=" + status.rank());
        }
        coordinator.status(rank, inquiry, status, clock.getAsLong());
    }

    /**
     * Handles the end of a rank's connection.
     *
     * @param stoodStillMillis how long this process has just stood still; 0 if it has not
     */
    void onClosed(int rank, String why, long stoodStillMillis) {
        links.remove(rank);
        endIfAllLeft();
        if (brokenDown) {
            return;
        }
        // If this process has just stood still, the rank closed the connection because rank 0 was silent. So rank 0 has
        // failed, not the rank.
        if (stoodStillMillis > 0) {
            giveUp(Standstill.text(0, stoodStillMillis));
        }
        coordinator.lost(rank, why, clock.getAsLong());
        tickSoon.run();
    }

    /** Reports to all ranks that rank 0 gives up. */
    void giveUp(String text) {
        if (!brokenDown) {
            coordinator.report(0, ReportKind.GAVE_UP, 0, text, clock.getAsLong());
        }
    }

    /**
     * Fails the communicator on all ranks after an error of the JVM has interrupted the coordinator at any point. Needs
     * no memory.
     */
    void breakDown(Throwable error) {
        brokenDown = true;
        if (!failed) {
            links.broadcastShort(breakDownFailure.of(error));
            failed = true;
        }
    }

    private void letGo(int rank) {
        Link link = links.of(rank);
        if (link != null) {
            links.remove(rank); // removed before the next calls, because these may throw and are not repeated
            link.send(FrameLink.encode(FrameType.FIN_ACK, new byte[0]));
            link.closeWhenSent();
            endIfAllLeft();
        }
    }

    private void endIfAllLeft() {
        if (links.isEmpty()) {
            whenAllLeft.run();
        }
    }

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
    public void failure(FailureReport agreed) {
        LOG.debug("agreed failure: {}", agreed.describe());
        links.broadcast(FrameLink.encode(FrameType.FAILURE, Codecs.encode(agreed)));
        failed = true;
    }

    @Override
    public void finAck(int rank) {
        letGo(rank);
        checkAwaited();
    }

    /** Tells the ranks that are still here that rank 0 leaves, and the last operations that it entered. */
    void left(LastEntered lastEntered) {
        WireWriter left = new WireWriter();
        lastEntered.write(left);
        links.broadcast(FrameLink.encode(FrameType.LEFT, left.toBytes()));
    }

    /** Returns true if a rank has not left and its connection is not lost. */
    boolean isHere(int rank) {
        return links.of(rank) != null;
    }

    /** Closes the connections to the ranks that are still here. */
    void close() {
        links.close();
    }
}
