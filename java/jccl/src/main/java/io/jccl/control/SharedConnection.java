package io.jccl.control;

import io.jccl.BootstrapException;
import io.jccl.wire.FrameGroup;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.GroupLink;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireReader;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * A rank's connection to the process of a coordinator, with the groups that use it: the group for which it was made, and
 * groups that were split off. It lives until the last of them has left.
 */
final class SharedConnection implements FrameLink.Owner {

    /** One group. All methods are called on the reactor's thread. */
    interface Group {

        void onFrame(FrameType type, WireReader body);

        void onClosed(String why);

        void brokenDown(Throwable error);
    }

    /** Opens the connection. May throw after the reactor has taken over its channel. */
    @FunctionalInterface
    interface Opening {
        FrameLink open(SharedConnection owner) throws IOException;
    }

    private final Reactor reactor;
    private final boolean ownsReactor;
    private final LongSupplier clock;
    private final FrameLink link;
    private final Map<Long, Group> groups = new ConcurrentHashMap<>(); // by number
    private final FrameGroup next = new FrameGroup(); // used by the reactor's thread
    private volatile long heardAt; // time at which the last bytes arrived; written by the reactor's thread
    private int users; // number of groups that have not left; guarded by this

    /** Takes over a connection. Called on the reactor's thread, or before that thread starts. */
    SharedConnection(Reactor reactor, boolean ownsReactor, LongSupplier clock, Opening opening) throws IOException {
        this.reactor = reactor;
        this.ownsReactor = ownsReactor;
        this.clock = clock;
        this.heardAt = clock.getAsLong();
        link = opening.open(this);
        link.allowLongFrames();
        reactor.onBreakDown(error -> groups.values().forEach(group -> group.brokenDown(error)));
    }

    Reactor reactor() {
        return reactor;
    }

    long heardAt() {
        return heardAt;
    }

    /**
     * Adds a group. Its methods may be called from now on.
     *
     * @throws BootstrapException if all groups have left, so that the connection is closed
     */
    synchronized GroupLink add(long number, Group group) {
        if (users == 0 && number != GroupLink.FIRST) {
            throw new BootstrapException("the communicator that is split has been closed by another thread");
        }
        users++;
        groups.put(number, group);
        return new GroupLink(link, number, true, this::isShared);
    }

    private synchronized boolean isShared() {
        return users > 1;
    }

    /** Removes a group; its methods are not called any more. Closes the connection after the last group. */
    void leave(long number, Runnable onThread) {
        boolean last;
        synchronized (this) {
            last = --users == 0;
        }
        if (last && ownsReactor) {
            groups.remove(number);
            reactor.close();
            return;
        }
        reactor.execute(() -> {
            groups.remove(number);
            onThread.run();
            if (last) {
                link.close();
            }
        });
    }

    @Override
    public void onAlive(FrameLink from) {
        heardAt = clock.getAsLong();
    }

    @Override
    public void onFrame(FrameLink from, FrameType type, WireReader body) {
        if (next.takes(type, body)) {
            return;
        }
        Group group = groups.get(next.of(type));
        if (group != null) { // else the group has left
            group.onFrame(type, body);
        }
        next.handled();
    }

    @Override
    public void onClosed(FrameLink from, String why) {
        groups.values().forEach(group -> group.onClosed(why));
    }
}
