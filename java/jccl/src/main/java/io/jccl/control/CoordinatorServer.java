package io.jccl.control;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.FrameGroup;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.GroupLink;
import io.jccl.wire.Handshake;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.Reactor;
import io.jccl.wire.Server;
import io.jccl.wire.SessionKeys;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server in rank 0's process to which every rank, including rank 0, keeps one connection for the life of the
 * communicator. Registers the ranks, then passes their frames to the {@link CompleteGroup}, and to the
 * {@link SplitGroup}s that share the connections. The methods are in the order of the table in
 * {@code docs/agreement.md}. Uses one thread.
 */
public final class CoordinatorServer implements Closeable, Server.Service, LingeringServers.Lingering {

    private static final Logger LOG = LoggerFactory.getLogger(CoordinatorServer.class);

    /**
     * Time limit for a task on the coordinator's thread. Even a thread that gets no CPU for a while finishes in time;
     * only a thread that an error or a fault has stopped takes longer.
     */
    private static final long TASK_MILLIS = 1000;

    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** The text before an error of the JVM that breaks this server down. */
    static final String BREAK_DOWN = "the coordinator on rank 0 cannot go on after an error of its JVM: ";

    private final int size;
    private final Server server;
    private final LongSupplier clock;
    private final BootstrapOptions options;
    private final long heartbeatIntervalNanos;
    private final RankRegistration registration;
    private final Standstill standstill;
    private final CountDownLatch ended = new CountDownLatch(1); // counted down when a server that lingers closes
    // counted down when all ranks were sent the reason why there will be no group
    private final CountDownLatch allNotified = new CountDownLatch(1);
    private volatile CompleteGroup group; // null until all ranks have registered; set by the server's thread
    private FrameLink rendezvous; // rank 0's connection to the rendezvous server, until all ranks have registered
    private final Departure departure;
    private final Map<Long, SplitGroup> splits = new HashMap<>(); // by number; used by the server's thread
    private final Map<Long, Runnable> whenSplitEnds = new HashMap<>(); // by number; used by the server's thread
    private final int[] splitsOfRank; // by rank: number of split groups that use its connection
    private final String[] lost; // by rank: why its connection ended; null while it is open
    private final FrameGroup[] next; // by rank: the group of its next frame
    private volatile int splitCount; // size of `splits`
    private boolean firstEnded; // true if only split groups still use the server

    /** Starts a coordinator for a group of the given size. Listens on one address or, if it is null, on all. */
    public CoordinatorServer(BootstrapOptions options, InetAddress address, byte[] secret, int size) {
        this.size = size;
        this.options = options;
        this.departure = new Departure(options);
        this.splitsOfRank = new int[size];
        this.lost = new String[size];
        this.next = new FrameGroup[size];
        Arrays.setAll(next, rank -> new FrameGroup());
        this.heartbeatIntervalNanos = options.heartbeatInterval(size).toNanos();
        this.clock = options.clock();
        this.standstill = new Standstill(options.heartbeatTimeout().toNanos(), clock.getAsLong());
        this.registration = new RankRegistration(options.version(), size);
        this.server = new Server(
                new Handshake.Key(Handshake.Purpose.COORDINATOR, secret, options.generation(), options.encrypted()),
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
        if (group == null) {
            return registration.awaited("the coordinator waits for ranks to connect");
        }
        AwaitedRanks.Waiting ofFirst = group.awaited(communicator);
        return Stream.concat(Stream.of(ofFirst), splits.values().stream().map(SplitGroup::awaited))
                .filter(waiting -> !waiting.ranks().isEmpty())
                .findFirst()
                .orElse(ofFirst);
    }

    public int port() {
        return server.port();
    }

    /** Returns the number of bytes that this server has sent. */
    public long sentBytes() {
        return server.reactor().sentBytes();
    }

    @Override
    public void onAlive(FrameLink link) {
        int rank = group == null ? -1 : registration.rankOf(link);
        if (rank >= 0) {
            group.onAlive(rank);
        }
    }

    @Override
    public void onFrame(FrameLink link, FrameType type, WireReader body) {
        if (group != null) {
            int rank = registration.rankOf(link);
            if (rank < 0) {
                throw new WireException("frame=" + type + " remote=" + link.remote() + ": the group is complete");
            }
            onFrame(rank, type, body);
            return;
        }
        switch (type) {
            case HELLO -> hello(link, body);
            case GIVE_UP -> giveUp(link, body);
            default -> throw new WireException("frame=" + type + ": the group is not complete yet");
        }
    }

    private void onFrame(int rank, FrameType type, WireReader body) {
        if (next[rank].takes(type, body)) {
            return;
        }
        long number = next[rank].of(type);
        if (number == GroupLink.FIRST) {
            group.onFrame(rank, type, body);
        } else if (type == FrameType.ENTER) {
            enter(rank, number, body);
        } else if (splits.containsKey(number)) { // else the group has ended
            splits.get(number).onFrame(rank, type, body);
        }
        next[rank].handled();
    }

    /** Lets a rank enter a group that was split off. The first rank makes the group. */
    private void enter(int rank, long number, WireReader body) {
        int[] members = new int[body.i32In("size", 1, size)];
        for (int i = 0; i < members.length; i++) {
            members[i] = body.i32In("rank", 0, size - 1);
        }
        body.end();
        SplitGroup split = splits.get(number);
        if (split == null) {
            List<FrameLink> all = registration.links();
            split = new SplitGroup(
                    number,
                    members,
                    one -> new GroupLink(all.get(one), number, false, () -> true),
                    options,
                    server.reactor(),
                    () -> splitEnded(number, members));
            splits.put(number, split);
            splitCount = splits.size();
            for (int member : members) {
                splitsOfRank[member]++;
            }
            for (int member : members) {
                if (lost[member] != null) {
                    split.onClosed(member, lost[member], 0); // the connection ended before the group was made
                }
            }
        }
        split.enter(rank);
    }

    private void splitEnded(long number, int[] members) {
        splits.remove(number);
        splitCount = splits.size();
        for (int member : members) {
            splitsOfRank[member]--;
        }
        Runnable then = whenSplitEnds.remove(number);
        if (then != null) {
            then.run();
        }
        if (firstEnded && splits.isEmpty()) {
            server.close();
        }
    }

    private void hello(FrameLink link, WireReader body) {
        if (registration.join(link, RankRegistration.Hello.read(body))) {
            leaveRendezvous();
            server.releaseSpareDescriptor();
            List<GroupLink> links = new ArrayList<>();
            for (FrameLink one : registration.links()) {
                int rank = links.size();
                one.allowLongFrames();
                links.add(new GroupLink(one, GroupLink.FIRST, true, () -> splitsOfRank[rank] > 0));
            }
            Reactor reactor = server.reactor();
            group = new CompleteGroup(links, options, Relay.isUsed(size), reactor, reactor::tickSoon, this::allLeft);
            group.welcome(registration);
        }
        countDownIfAllNotified();
    }

    private void giveUp(FrameLink link, WireReader body) {
        String time = body.text(Limits.MAX_TEXT);
        body.end();
        registration.giveUp(link, time);
    }

    @Override
    public void onClosed(FrameLink link, String why) {
        int rank = registration.rankOf(link);
        if (rank < 0) {
            return;
        }
        if (group == null) {
            registration.lose(link, why);
        } else {
            long millis = standstill.millis(clock.getAsLong());
            lost[rank] = why;
            group.onClosed(rank, why, millis);
            List.copyOf(splits.values()).forEach(split -> split.onClosed(rank, why, millis));
        }
    }

    /** Takes over rank 0's connection to the rendezvous server, and closes it when all ranks have registered. */
    public void listenTo(FrameStream toServer) {
        server.reactor().execute(() -> {
            try {
                rendezvous = new FrameLink(server.reactor(), toServer.release(), new FromRendezvous());
                if (group != null) {
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
            if (group == null) {
                registration.fail(cause, ranks, body.text(Limits.MAX_TEXT));
            }
        }

        @Override
        public void onClosed(FrameLink link, String why) {
            LOG.debug("the rendezvous server is gone: {}", why);
        }
    }

    /**
     * Tells the ranks that have registered, and those that register later, why there will be no group. Does nothing
     * once all ranks have registered.
     */
    public void refuse(String why) {
        execute(() -> {
            if (group == null) {
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

    @Override
    public void onExhausted(String why) {
        refuse("the coordinator, in the process of rank 0, cannot meet the ranks: " + why);
    }

    /** Tells all ranks of an error of the JVM. Needs no memory once all ranks have registered. */
    private void breakDown(Throwable error) {
        if (group == null) {
            registration.fail(RankRegistration.Cause.REFUSED, List.of(), BREAK_DOWN + error);
        } else {
            group.breakDown(error);
            splits.values().forEach(split -> split.breakDown(error));
        }
    }

    @Override
    public long onTick(long now) {
        standstill.tick(now);
        if (departure.isDue(now)) {
            end();
        }
        boolean isIdle = group == null || firstEnded;
        return departure.next(now, isIdle ? heartbeatIntervalNanos : group.tick(now));
    }

    /** Reports to all ranks that rank 0 gives up. Called before this coordinator is closed. */
    public void giveUp(String text) {
        execute(() -> {
            if (group != null) {
                group.giveUp(text);
            }
        });
    }

    /**
     * Closes when every rank has left, or after the close time-out, and then first sends the last operations of rank 0
     * to the ranks that have not left. After a failure the ranks need the coordinator only until they have received the
     * cause, so the coordinator waits for them at most a second.
     *
     * <p>Does not wait for that: rank 0 may be awaited in the close of another communicator. Instead, the JVM waits
     * when it ends. Only if it is ending already does this call wait.
     */
    public void closeAfterOthers(LastEntered lastEntered) {
        if (departure.hasAllLeft() && splitCount == 0) {
            server.close();
            return;
        }
        boolean added = LingeringServers.add(this);
        server.reactor().execute(() -> linger(lastEntered));
        if (!added) {
            awaitEnd();
        }
    }

    /** Ends the group for which the server was made. The server closes when all split groups have ended, too. */
    public void leave() {
        server.reactor().execute(this::end);
    }

    private void linger(LastEntered lastEntered) {
        departure.begin(lastEntered, group != null && group.hasFailed(), clock.getAsLong());
        if (departure.hasAllLeft()) {
            end();
        }
    }

    private void allLeft() {
        departure.allLeft();
        if (departure.hasBegun()) {
            end();
        }
    }

    private void end() {
        departure.end(group);
        if (splits.isEmpty()) {
            server.close();
        } else {
            firstEnded = true; // the last split group closes the server
            group.close();
        }
        LingeringServers.remove(this);
        ended.countDown();
    }

    /** Waits until a server that lingers has closed, at most a second longer than it lingers. */
    @Override
    public void awaitEnd() {
        awaitEnd(ended);
    }

    void awaitEnd(CountDownLatch latch) {
        await(latch, options.closeTimeout().toMillis() + TASK_MILLIS);
    }

    /**
     * Returns the coordinator of a group that is split off, for rank 0 of that group. Its ranks enter it by
     * {@link CoordinatorConnection#enter}.
     */
    public SplitCoordinator split(long number) {
        return new SplitCoordinator(this, number);
    }

    /** Ends a split group when its other ranks have left. Runs a task when it has ended. */
    void closeSplit(long number, LastEntered lastEntered, Runnable then) {
        server.reactor().execute(() -> {
            SplitGroup split = splits.get(number);
            if (split == null) {
                then.run();
            } else {
                whenSplitEnds.put(number, then);
                split.closeAfterOthers(lastEntered, clock.getAsLong());
            }
        });
    }

    /**
     * Closes the server: at once, or after five seconds if initialisation failed, so that late ranks receive the
     * reason.
     */
    public void closeSoon() {
        execute(() -> {
            if (registration.failed()) {
                departure.beginWithoutGroup(LINGER_NANOS, clock.getAsLong());
            } else {
                server.close();
            }
        });
    }

    @Override
    public void close() {
        server.close();
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

    /** Runs a task on this coordinator's thread. For tests of errors on that thread. */
    public void onThread(Runnable task) {
        server.reactor().execute(task);
    }
}
