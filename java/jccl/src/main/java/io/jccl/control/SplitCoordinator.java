package io.jccl.control;

import io.jccl.wire.LastEntered;
import java.util.concurrent.CountDownLatch;

/** Rank 0's hold on the coordinator of a group that was split off, see {@link CoordinatorServer#split}. */
public final class SplitCoordinator implements LingeringServers.Lingering {

    private final CoordinatorServer server;
    private final long number;
    private final CountDownLatch ended = new CountDownLatch(1);

    SplitCoordinator(CoordinatorServer server, long number) {
        this.server = server;
        this.number = number;
    }

    /** Returns the server, which coordinates the groups that are split off from this group, too. */
    public CoordinatorServer server() {
        return server;
    }

    /** Ends the coordinator as {@link CoordinatorServer#closeAfterOthers} does. */
    public void closeAfterOthers(LastEntered lastEntered) {
        boolean added = LingeringServers.add(this);
        server.closeSplit(number, lastEntered, () -> {
            LingeringServers.remove(this);
            ended.countDown();
        });
        if (!added) {
            awaitEnd();
        }
    }

    @Override
    public void awaitEnd() {
        server.awaitEnd(ended);
    }
}
