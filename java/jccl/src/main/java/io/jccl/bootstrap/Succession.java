package io.jccl.bootstrap;

import java.util.ArrayList;
import java.util.List;

/** What a rank knows and keeps of the groups before its own. Safe for use by any thread. */
final class Succession {

    private List<EarlierGroup> earlier; // that the group needs a majority of, too
    private List<EarlierGroup> settled = List.of(); // that it does not; a rank that was left out may still ask
    private final List<ReservedPort> ofFailedGroups = new ArrayList<>(); // that came from the group
    private boolean confirmed;
    private boolean cutOff; // in a group before, until this one is confirmed

    /** Of a group that comes from no other. */
    Succession() {
        this(List.of());
    }

    /** Of a process that has joined. */
    Succession(List<EarlierGroup> earlier) {
        this.earlier = earlier;
    }

    /**
     * That of a group which comes from this one's.
     *
     * @param own this rank's port, which is shared
     * @param wasCutOff whether this rank lost the coordinator while others may still have had it
     */
    synchronized Succession after(RemainingRanks remaining, ReservedPort own, boolean wasCutOff) {
        List<ReservedPort> ports = new ArrayList<>(ofFailedGroups); // what others may take for this rank
        ports.add(own);
        Succession next = new Succession(remaining.earlierGroups(ports));
        next.settled = settled.stream()
                .map(group -> group.after(remaining.left(), true))
                .toList();
        next.cutOff = wasCutOff;
        return next;
    }

    /** The groups that this one needs a majority of, too. */
    synchronized List<EarlierGroup> earlier() {
        return earlier;
    }

    /** Whether this rank lost the coordinator of a group before, while others may still have had it. */
    synchronized boolean wasCutOff() {
        return cutOff;
    }

    synchronized boolean isConfirmed() {
        return confirmed;
    }

    /** A group that came from this one failed, perhaps on this rank only: others must not take it for one that has ended. */
    synchronized void keep(ReservedPort port) {
        ofFailedGroups.add(port);
    }

    /** All ranks are known to use the group, see {@link Bootstrap#confirm}. */
    void confirm(PortProbe probe) {
        List<EarlierGroup> stay = new ArrayList<>();
        List<EarlierGroup> ask = new ArrayList<>();
        synchronized (this) {
            for (EarlierGroup group : earlier) {
                (group.lasts() ? stay : ask).add(group);
            }
            ask.addAll(settled);
        }
        stay.removeIf(group -> isEmpty(group, probe)); // asks over the network
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

    /** Whether no rank lives that was left out of a group. */
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
