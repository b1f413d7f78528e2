package io.jccl.membership;

import io.jccl.wire.PortProbe;

/**
 * Decides whether so few ranks remain that the excluded ranks may continue without them. In the old group, "too few"
 * means fewer than half of the ranks that are not known to have ended, or exactly half without rank 0. In an earlier
 * group, exactly half is always too few. {@code docs/agreement.md} explains these rules.
 */
final class Majority {

    private final RemainingRanks remaining;
    private final boolean endedCount;
    private final PortProbe probe;

    /**
     * Creates the decision for one attempt to reform.
     *
     * @param endedCount true if a closed port proves that a rank has ended; false if such a rank may have continued
     *     without this one
     */
    Majority(RemainingRanks remaining, boolean endedCount) {
        this.remaining = remaining;
        this.endedCount = endedCount;
        this.probe = new PortProbe(remaining.rank());
    }

    /** Returns true if the remaining ranks are too few. Probes excluded ranks only as far as the result needs it. */
    boolean isMissing() {
        return !isMajorityOfOldGroup() || remaining.earlier().stream().anyMatch(group -> !isMajorityOf(group));
    }

    private boolean isMajorityOfOldGroup() {
        int living = remaining.oldSize();
        for (int one : remaining.excluded()) {
            if (isMajorityOf(living) || !endedCount) {
                break;
            }
            living -= hasEnded(one) ? 1 : 0;
        }
        return isMajorityOf(living);
    }

    private boolean isMajorityOf(int living) {
        int left = remaining.left().size();
        return 2 * left > living || 2 * left == living && remaining.left().get(0) == 0;
    }

    private boolean isMajorityOf(EarlierGroup group) {
        int mine = 0;
        int living = 0;
        for (int one = 0; one < group.ranks().size(); one++) {
            int now = group.ranks().get(one);
            if (remaining.left().contains(now)) {
                mine++;
                living++;
            } else {
                boolean ended = endedCount && hasEnded(group, one) && (now == EarlierGroup.NONE || hasEnded(now));
                living += ended ? 0 : 1;
            }
        }
        return 2 * mine > living;
    }

    /**
     * Returns true if a rank of the old group has ended. The rank may have lost the old group's port and kept the port
     * of an earlier group, so all its ports are probed.
     */
    private boolean hasEnded(int oldRank) {
        return probe.hasEnded(remaining.addresses(oldRank))
                && remaining.earlier().stream().allMatch(group -> {
                    int before = group.ranks().indexOf(oldRank);
                    return before < 0 || hasEnded(group, before);
                });
    }

    private boolean hasEnded(EarlierGroup group, int rank) {
        return probe.hasEnded(ReservedPort.decode(group.addresses().get(rank)));
    }
}
