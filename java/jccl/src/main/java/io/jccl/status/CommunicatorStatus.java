package io.jccl.status;

import io.jccl.control.FailureReport;
import io.jccl.control.RankStatus;
import io.jccl.control.StatusSource;
import io.jccl.membership.Bootstrap;
import io.jccl.wire.LastEntered;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The state of one rank of this process in one communicator, as others can see it, from the beginning of the
 * initialisation until the communicator is closed. Safe for use by any thread.
 */
public final class CommunicatorStatus {

    /** The phase and the step of a rank, and the time at which the step began. */
    private record Step(RankSnapshot.Phase phase, String name, long since) {

        static Step now(RankSnapshot.Phase phase, String name) {
            return new Step(phase, name, System.nanoTime());
        }
    }

    private final ProcessStatus owner;
    private volatile JobIdentity job;
    private final int rank;
    private final int size;
    private volatile Step step = Step.now(RankSnapshot.Phase.INITIALISING, "rendezvous");
    private volatile Step call; // null: no call is in progress
    private volatile Bootstrap membership;
    private volatile String id = "";
    private volatile byte[] memberKey;
    private volatile List<PeerAddress> peers = List.of();
    private volatile CommunicatorView view;
    private volatile long failedSince; // 0: no snapshot has seen a failure yet

    CommunicatorStatus(ProcessStatus owner, JobIdentity job, int rank, int size) {
        this.owner = owner;
        this.job = job;
        this.rank = rank;
        this.size = size;
    }

    /** Notes the step that initialisation has reached. */
    public void step(String name) {
        step = Step.now(RankSnapshot.Phase.INITIALISING, name);
    }

    /** Notes that the ranks have met. */
    public void joined(Bootstrap group, String name) {
        memberKey = JobIdentity.memberKey(group.identity().dataKey());
        job = job.met(group);
        id = name;
        membership = group;
    }

    /** Returns the addresses of this process for the other ranks; empty if it has none. */
    public String addresses(Bootstrap group) {
        return owner.addresses(group.localAddress());
    }

    /** Sets the addresses of the status servers of all ranks, by rank. */
    public void peers(List<PeerAddress> addresses) {
        peers = List.copyOf(addresses);
    }

    /** Notes that the communicator is initialised. */
    public void started(CommunicatorView live) {
        view = live;
        step = Step.now(RankSnapshot.Phase.RUNNING, "");
    }

    /**
     * Notes the beginning of a call that makes another communicator from the ranks of this one; see {@link #called}.
     */
    public void calls(String text) {
        call = Step.now(RankSnapshot.Phase.RUNNING, text);
    }

    /** Notes that the call has ended. */
    public void called() {
        call = null;
    }

    /** Notes that the communicator is being closed. */
    public void closing() {
        step = Step.now(RankSnapshot.Phase.CLOSING, "");
    }

    /** Removes the communicator from what others can see. A second call does nothing. */
    public void end() {
        owner.end(this);
    }

    /** Returns the status of a communicator that was made from this one and belongs to the same job. */
    public CommunicatorStatus child(int newRank, int newSize) {
        return owner.begin(job, newRank, newSize);
    }

    String jobName() {
        return job.name();
    }

    String id() {
        return id;
    }

    int rank() {
        return rank;
    }

    List<PeerAddress> peers() {
        return peers;
    }

    /** Returns the key that all members know; null until the ranks have met. */
    byte[] memberKey() {
        return memberKey;
    }

    /** Returns the keys with which others may look into this communicator. */
    List<byte[]> keys() {
        List<byte[]> keys = new ArrayList<>();
        job.key().ifPresent(key -> keys.add(key.bytes()));
        byte[] ofMembers = memberKey;
        if (ofMembers != null) {
            keys.add(ofMembers);
        }
        return keys;
    }

    RankSnapshot snapshot(Request request) {
        Step now = step;
        Step inCall = now.phase() == RankSnapshot.Phase.RUNNING ? call : null;
        CommunicatorView live = view;
        Bootstrap group = membership;
        Optional<FailureReport> agreed =
                group == null ? Optional.empty() : group.control().agreedFailure();
        String failure = agreed.map(FailureReport::describe)
                .or(() -> live == null ? Optional.empty() : live.failure())
                .orElse("");
        SortedSet<Integer> failed = agreed.map(CommunicatorStatus::blamed).orElseGet(TreeSet::new);
        Optional<CommunicatorView.UnderWay> underWay = live == null ? Optional.empty() : live.underWay();
        List<CommunicatorView.TimedWait> waits = live == null ? List.of() : live.waits();
        StatusSource source = live == null ? StatusSource.NOTHING : live.source();
        boolean isAsked = request.sequence() != 0 && request.communicator().equals(id);
        long sequence = isAsked ? request.sequence() : latest(source, underWay);
        RankStatus status = RankStatus.of(
                rank,
                source,
                waits.stream().map(CommunicatorView.TimedWait::place).toList(),
                sequence);
        boolean hasFailed = !failure.isEmpty() && now.phase() != RankSnapshot.Phase.CLOSING;
        if (hasFailed && failedSince == 0) {
            failedSince = System.nanoTime();
        }
        return new RankSnapshot(
                id,
                job.name(),
                group == null ? 0 : group.generation(),
                size,
                hasFailed ? RankSnapshot.Phase.FAILED : now.phase(),
                inCall == null ? now.name() : inCall.name(),
                System.nanoTime() - (inCall != null ? inCall.since() : hasFailed ? failedSince : now.since()),
                failure,
                failed,
                status,
                waits.stream().map(CommunicatorView.TimedWait::nanos).toList(),
                live == null ? LastEntered.NOTHING : live.lastDone(),
                underWay,
                live == null ? List.of() : live.traffic(),
                live == null ? CommunicatorView.Totals.NOTHING : live.totals(),
                live == null ? CommunicatorView.Pace.UNKNOWN : live.pace());
    }

    /** Dumps what this rank remembers. Returns the file, or the reason why there is none. */
    String dump(Path folder) {
        CommunicatorView live = view;
        String who = "communicator=" + (id.isEmpty() ? "(not initialised)" : id) + " rank=" + rank;
        if (live == null) {
            return who + ": nothing to dump before it is initialised";
        }
        try {
            return live.dump(folder).toString();
        } catch (IOException | RuntimeException e) {
            return who + ": no dump in folder=" + folder + " (" + e + ")";
        }
    }

    private static SortedSet<Integer> blamed(FailureReport report) {
        SortedSet<Integer> ranks = new TreeSet<>(report.failedRanks());
        ranks.addAll(report.missingRanks());
        return ranks;
    }

    /** Returns the sequence number of the operation in progress, or else of the last operation. */
    private static long latest(StatusSource source, Optional<CommunicatorView.UnderWay> underWay) {
        long now = underWay.map(CommunicatorView.UnderWay::sequence).orElse(0L);
        if (now != 0) {
            return now;
        }
        LastEntered last = source.lastEntered();
        return last.host() == 0 && last.device() != 0 ? LastEntered.onDevice(last.device()) : last.host();
    }
}
