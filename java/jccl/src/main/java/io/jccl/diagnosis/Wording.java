package io.jccl.diagnosis;

import io.jccl.wire.RankList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;

/** Writes the parts that sentences of findings have in common. */
final class Wording {

    private Wording() {}

    /** Returns ranks as the subject of a sentence, with their process and host if they are all in one process. */
    static String who(CommunicatorSample sample, SortedSet<Integer> ranks) {
        String subject = RankList.subject(ranks);
        if (!sample.ranks().keySet().containsAll(ranks)) {
            return subject;
        }
        RankView first = sample.ranks().get(ranks.first());
        boolean isOneProcess = first.pid() >= 0
                && ranks.stream()
                        .map(sample.ranks()::get)
                        .allMatch(
                                rank -> rank.pid() == first.pid() && rank.host().equals(first.host()));
        return isOneProcess ? subject + " (pid " + first.pid() + " on " + first.host() + ")" : subject;
    }

    /**
     * Returns the end of a sentence: how many ranks wait, in which operation and for how long. Returns an empty text if
     * no rank waits.
     */
    static String waiters(CommunicatorSample sample) {
        List<RankView> waiting =
                sample.ranks().values().stream().filter(RankView::isHeldUp).toList();
        if (waiting.isEmpty()) {
            return "";
        }
        String call = waiting.stream()
                .map(RankView::call)
                .flatMap(Optional::stream)
                .findFirst()
                .map(text -> " in " + text)
                .orElse("");
        return "; " + waiting.size() + (waiting.size() == 1 ? " rank waits" : " ranks wait") + call + " for "
                + Durations.text(sample.longestWaitNanos());
    }
}
