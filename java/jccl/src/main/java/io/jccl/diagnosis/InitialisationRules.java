package io.jccl.diagnosis;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.status.CommunicatorView.UnderWay;
import io.jccl.status.RankSnapshot;
import io.jccl.wire.RankList;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.stream.Stream;

/**
 * Finds the ranks and processes for which others wait while a communicator is initialised, or in a call that makes
 * another communicator.
 */
final class InitialisationRules {

    private final List<CommunicatorSample> samples;
    private final CommunicatorSample now;

    InitialisationRules(List<CommunicatorSample> samples) {
        this.samples = samples;
        this.now = samples.get(samples.size() - 1);
    }

    /** Returns a finding for each server that waits for ranks or joining processes. */
    List<Finding> awaited() {
        long longest = longest(now.ranks().values().stream()
                .flatMap(rank -> rank.snapshot().stream())
                .filter(it -> !it.step().isEmpty()));
        List<Finding> findings = new ArrayList<>();
        for (AwaitedRanks.Waiting waiting : now.awaited()) {
            if (longest >= UnderWay.LONG_NANOS || longest == 0 && isWaitedForAgain(waiting)) {
                findings.add(new Finding(
                        Finding.Kind.ABSENT,
                        waiting.ranks(),
                        subject(waiting) + " not come: " + waiting.what()
                                + (longest == 0 ? "" : ", " + Durations.text(longest) + " so far")));
            }
        }
        return findings;
    }

    /**
     * Returns true if the previous sample contains the same wait. A wait in only one sample may be a normal exchange,
     * for example of a split.
     */
    private boolean isWaitedForAgain(AwaitedRanks.Waiting waiting) {
        return samples.size() > 1 && samples.get(samples.size() - 2).awaited().contains(waiting);
    }

    private String subject(AwaitedRanks.Waiting waiting) {
        SortedSet<Integer> ranks = waiting.ranks();
        int processes = waiting.processes();
        List<String> all = new ArrayList<>();
        if (!ranks.isEmpty()) {
            all.add(Wording.who(now, ranks));
        }
        if (processes > 0) {
            all.add(processes == 1 ? "a process that joins" : processes + " processes that join");
        }
        return String.join(" and ", all) + (ranks.size() + processes == 1 ? " has" : " have");
    }

    /**
     * Returns a finding about ranks that are missing at the rendezvous. Only the rendezvous server's host knows them;
     * on another host, these are the ranks of which nothing is known.
     */
    Optional<Finding> missingAtRendezvous() {
        List<RankSnapshot> initialising = now.in(RankSnapshot.Phase.INITIALISING).stream()
                .map(rank -> rank.snapshot().orElseThrow())
                .toList();
        long longest = longest(initialising.stream());
        boolean isRendezvous =
                initialising.stream().anyMatch(it -> it.communicator().isEmpty());
        if (!now.awaited().isEmpty() || !isRendezvous || longest < UnderWay.LONG_NANOS) {
            return Optional.empty();
        }
        SortedSet<Integer> unknown = now.unknown();
        return Optional.of(new Finding(
                Finding.Kind.ABSENT,
                unknown,
                (unknown.isEmpty()
                                ? "all ranks wait at the rendezvous, whose server does not let them go on, for "
                                : RankList.subject(unknown) + (unknown.size() == 1 ? " has" : " have")
                                        + " not come as far as this host knows: others wait at the rendezvous for ")
                        + Durations.text(longest) + "; ask the process with the rendezvous server, rank 0 or the"
                        + " one that created the id"));
    }

    private static long longest(Stream<RankSnapshot> ranks) {
        return ranks.mapToLong(RankSnapshot::phaseNanos).max().orElse(0);
    }
}
