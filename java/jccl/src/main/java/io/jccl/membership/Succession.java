package io.jccl.membership;

import io.jccl.wire.PortProbe;
import java.util.ArrayList;
import java.util.List;

/**
 * The earlier groups that still matter to a rank, and the ports that it keeps open for them. Safe for use by any
 * thread.
 */
final class Succession {

    // the earlier groups of which the ranks need a majority, too, in order to continue
    private List<EarlierGroup> earlier;
    // earlier groups of which no majority is needed any more, but whose ranks may still probe this rank
    private List<EarlierGroup> settled = List.of();
    // this rank's ports in failed groups that came from this group
    private final List<ReservedPort> ofFailedGroups = new ArrayList<>();
    private boolean confirmed;
    private boolean cutOff; // true if this rank lost an earlier group's coordinator; false once this group is confirmed

    /** Creates the succession of a group that does not replace another. */
    Succession() {
        this(List.of());
    }

    /** Creates the succession of a process that has joined. */
    Succession(List<EarlierGroup> earlier) {
        this.earlier = earlier;
    }

    /**
     * Returns the succession of a group that replaces this one.
     *
     * @param own this rank's port, which is shared
     * @param wasCutOff true if this rank lost the coordinator while others may still have been connected to it
     */
    synchronized Succession after(RemainingRanks remaining, ReservedPort own, boolean wasCutOff) {
        // the ports stay open because other ranks may probe them to learn whether this rank has ended
        List<ReservedPort> ports = new ArrayList<>(ofFailedGroups);
        ports.add(own);
        Succession next = new Succession(remaining.earlierGroups(ports));
        next.settled = settled.stream()
                .map(group -> group.after(remaining.left(), true))
                .toList();
        next.cutOff = wasCutOff;
        return next;
    }

    /** Returns the earlier groups of which the ranks need a majority, too, in order to continue. */
    synchronized List<EarlierGroup> earlier() {
        return earlier;
    }

    /**
     * Returns true if this rank lost the coordinator of an earlier group, while others may still have been connected to
     * it.
     */
    synchronized boolean wasCutOff() {
        return cutOff;
    }

    synchronized boolean isConfirmed() {
        return confirmed;
    }

    /**
     * Keeps open the port of a group that came from this one and failed, perhaps on this rank only. If the port were
     * closed, other ranks would conclude that this rank has ended.
     */
    synchronized void keep(ReservedPort port) {
        ofFailedGroups.add(port);
    }

    /**
     * Notes that all ranks are known to use the group, see {@link Bootstrap#confirm}. Closes each earlier group whose
     * left-out ranks have all ended.
     */
    void confirm(PortProbe probe) {
        List<EarlierGroup> stay = new ArrayList<>();
        List<EarlierGroup> ask = new ArrayList<>();
        synchronized (this) {
            for (EarlierGroup group : earlier) {
                (group.lasts() ? stay : ask).add(group);
            }
            ask.addAll(settled);
        }
        stay.removeIf(group -> isEmpty(group, probe)); // called outside the lock, because it probes over the network
        ask.removeIf(group -> isEmpty(group, probe));
        synchronized (this) {
            for (List<EarlierGroup> before : List.of(earlier, settled)) {
                before.stream()
                        .filter(group -> !stay.contains(group) && !ask.contains(group))
                        .forEach(EarlierGroup::close);
            }
            earlier = List.copyOf(stay);
            settled = List.copyOf(ask);
            cutOff = false;
            confirmed = true;
        }
    }

    /** Returns true if all ranks of an earlier group that were left out of the current one have ended. */
    private static boolean isEmpty(EarlierGroup group, PortProbe probe) {
        return group.leftOut().stream()
                .allMatch(rank ->
                        probe.hasEnded(ReservedPort.decode(group.addresses().get(rank))));
    }

    synchronized void close() {
        ofFailedGroups.forEach(ReservedPort::close);
        ofFailedGroups.clear();
        earlier.forEach(EarlierGroup::close);
        earlier = List.of();
        settled.forEach(EarlierGroup::close);
        settled = List.of();
    }
}
