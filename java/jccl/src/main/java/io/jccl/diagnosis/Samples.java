package io.jccl.diagnosis;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.status.Absentee;
import io.jccl.status.Answer;
import io.jccl.status.ProcessSnapshot;
import io.jccl.status.RankSnapshot;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Combines the answers of processes into one sample for each communicator. */
public final class Samples {

    private static final class Parts {
        private final RankSnapshot first;
        private final SortedMap<Integer, RankView> ranks = new TreeMap<>();
        private final List<AwaitedRanks.Waiting> awaited = new ArrayList<>();

        Parts(RankSnapshot first) {
            this.first = first;
        }
    }

    private final Map<String, Parts> byKey = new LinkedHashMap<>();
    private final Map<String, String> hostNames = new HashMap<>(); // by host id

    private Samples() {}

    /** Returns the communicators of these answers. If several answers are about one rank, the first one counts. */
    public static List<CommunicatorSample> of(Collection<Answer> answers) {
        Samples samples = new Samples();
        for (Answer answer : answers) {
            answer.processes().forEach(process -> samples.hostNames.putIfAbsent(process.hostId(), process.hostName()));
        }
        for (Answer answer : answers) {
            answer.processes().forEach(samples::add);
        }
        for (Answer answer : answers) {
            answer.absentees().forEach(samples::add);
        }
        List<CommunicatorSample> all = new ArrayList<>();
        for (Parts parts : samples.byKey.values()) {
            all.add(new CommunicatorSample(
                    parts.first.communicator(),
                    parts.first.job(),
                    parts.first.generation(),
                    parts.first.size(),
                    parts.ranks,
                    parts.awaited));
        }
        return all;
    }

    private void add(ProcessSnapshot process) {
        for (RankSnapshot rank : process.ranks()) {
            String key = CommunicatorSample.key(rank.communicator(), rank.job(), rank.size());
            Parts parts = byKey.computeIfAbsent(key, absent -> new Parts(rank));
            parts.ranks.putIfAbsent(
                    rank.rank(),
                    new RankView(rank.rank(), process.hostName(), process.pid(), Optional.of(rank), Optional.empty()));
            for (AwaitedRanks.Waiting waiting : process.awaited()) {
                boolean mine = waiting.communicator().isEmpty()
                        ? rank.communicator().isEmpty() && waiting.size() == rank.size()
                        : isGroup(waiting.communicator(), rank.communicator());
                if (mine && !parts.awaited.contains(waiting)) {
                    parts.awaited.add(waiting);
                }
            }
        }
    }

    /**
     * Returns true if a communicator belongs to the group that the coordinator names. A communicator's name is that of
     * its group, with the generation appended if it has been reformed.
     */
    private static boolean isGroup(String group, String communicator) {
        return communicator.equals(group) || communicator.startsWith(group + "-");
    }

    private void add(Absentee absentee) {
        Parts parts = byKey.get(absentee.communicator());
        if (parts != null && absentee.rank() < parts.first.size()) {
            String hostId = absentee.process().hostId();
            parts.ranks.putIfAbsent(
                    absentee.rank(),
                    new RankView(
                            absentee.rank(),
                            hostNames.getOrDefault(hostId, hostId),
                            absentee.process().pid(),
                            Optional.empty(),
                            Optional.of(absentee)));
        }
    }
}
