package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One rank's connection to the {@link CoordinatorServer} for the life of its communicator: reads on one thread,
 * dispatches frames to {@link OutOfBandChannel} and {@link Control}, sends heartbeats, and notices when the
 * coordinator's stop.
 */
final class CoordinatorConnection implements Closeable, FrameLink.Owner {

    private static final Logger LOG = LoggerFactory.getLogger(CoordinatorConnection.class);

    /** The others have a second to come as far, and one to report what they called. */
    private static final long FIN_MILLIS = 3000;

    private final LongSupplier clock;
    private final long intervalNanos;
    private final long timeoutNanos;
    private final InetAddress localAddress;
    private final Reactor reactor;
    private final FrameLink link;
    private final OutOfBandChannel outOfBand;
    private final Control control;
    private final CountDownLatch finAcked = new CountDownLatch(1);
    private final Standstill standstill;
    private volatile long heardAt; // written by the reactor's thread
    private long lastHeartbeat;
    private volatile boolean closing;
    private volatile boolean cutOff;

    /** Takes over the connection of a rank that has been welcomed. */
    CoordinatorConnection(int rank, int size, FrameStream stream, BootstrapOptions options) {
        clock = options.clock();
        intervalNanos = options.heartbeatInterval().toNanos();
        timeoutNanos = options.heartbeatTimeout().toNanos();
        localAddress = stream.localAddress();
        heardAt = clock.getAsLong();
        standstill = new Standstill(timeoutNanos, heardAt);
        lastHeartbeat = heardAt;
        reactor = new Reactor("jccl-control-" + rank, clock, this::tick);
        outOfBand = new OutOfBandChannel(rank, size, this::send);
        control = new Control(rank, new Control.Output() {
            @Override
            public void send(FrameType type, WireWriter content) {
                CoordinatorConnection.this.send(type, content);
            }

            @Override
            public boolean coordinatorIsSilent() {
                return clock.getAsLong() - heardAt >= timeoutNanos / 2;
            }

            @Override
            public void failed(FailureReport report) {
                outOfBand.fail(report::toException);
            }
        });
        try {
            link = new FrameLink(reactor, stream.release(), this);
        } catch (IOException e) {
            reactor.close();
            stream.close();
            throw new BootstrapException("rank=" + rank + ": lost the connection to rank 0: " + e.getMessage(), e);
        }
        link.allowLongFrames();
        reactor.start();
    }

    OutOfBandChannel outOfBand() {
        return outOfBand;
    }

    Control control() {
        return control;
    }

    /** Whether the coordinator was lost while the other ranks may still have it. */
    boolean wasCutOff() {
        return cutOff;
    }

    InetAddress localAddress() {
        return localAddress;
    }

    private void send(FrameType type, WireWriter content) {
        link.send(type, content);
    }

    private void sendHeartbeat() {
        send(FrameType.HEARTBEAT, control.position().write(new WireWriter()));
    }

    @Override
    public void onFrame(FrameLink from, FrameType type, WireReader body) {
        heardAt = clock.getAsLong();
        switch (type) {
            case HEARTBEAT -> body.end();
            case ASK -> sendHeartbeat();
            case GATHERED -> outOfBand.onGathered(body);
            case GATHER_MISSING -> outOfBand.onMissing(body);
            case MESSAGE -> outOfBand.onMessage(body);
            case QUERY -> control.query(body.i64(), body.i64());
            case FAILURE -> control.decide(Codecs.decodeFailure(body, outOfBand.size()));
            case LEFT -> control.coordinatorLeft(LastEntered.read(body));
            case FIN_ACK -> finAcked.countDown();
            default -> throw new WireException("frame=" + type + ": a rank does not accept it");
        }
    }

    @Override
    public void onClosed(FrameLink from, String why) {
        finAcked.countDown();
        if (!closing) {
            long millis = standstill.millis(clock.getAsLong());
            if (millis > 0) {
                cutOff = true;
                int rank = outOfBand.rank();
                control.decide(FailureReport.gone(
                        FailureReport.Kind.PEER_FAILED, Set.of(rank), 0, Standstill.text(rank, millis)));
            }
            control.coordinatorLost(why);
            outOfBand.fail(() -> new BootstrapException(
                    "rank=" + outOfBand.rank() + ": rank 0 has closed its communicator, and with it this network"));
        }
    }

    private long tick(long now) {
        long gap = standstill.tick(now);
        if (gap > timeoutNanos / 2) {
            heardAt = heardAt + gap; // it was this process that stood still
        }
        if (now - lastHeartbeat >= intervalNanos) {
            lastHeartbeat = now;
            sendHeartbeat();
        }
        if (!closing && now - heardAt >= timeoutNanos) {
            String why = "silent for " + TimeUnit.NANOSECONDS.toMillis(now - heardAt)
                    + " ms, longer than the heartbeat time-out";
            link.close();
            cutOff = true;
            onClosed(link, why);
            heardAt = now;
        }
        return intervalNanos;
    }

    /** Sends a FIN, waits for the answer, which takes two seconds at most if the coordinator lives, and closes. */
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
        reactor.close();
        outOfBand.fail(() -> new BootstrapException("rank=" + outOfBand.rank() + ": this communicator is closed"));
    }

    /** Ends without a FIN. */
    void die() {
        closing = true;
        reactor.close();
    }

    void execute(Runnable task) {
        reactor.execute(task);
    }
}
