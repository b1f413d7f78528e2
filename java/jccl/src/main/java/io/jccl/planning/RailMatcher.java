package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import java.util.Arrays;

/**
 * Assigns a host's channels to the channels of the plan, so that data that left another host by one rail enters by the
 * same rail if the host has such a device.
 *
 * <p>If a host has fewer channels than the plan, each of them is used about equally often. If it has more, some are
 * omitted.
 */
final class RailMatcher {

    private static final int UNKNOWN = -1;

    private final ChannelGraph found;
    private final int channels;

    /**
     * Prepares the assignment for one host.
     *
     * @param found the channels found on the host
     * @param channels the number of channels to which they are assigned
     */
    RailMatcher(ChannelGraph found, int channels) {
        this.found = found;
        this.channels = channels;
    }

    /** Assigns the channels in order, without preferred devices. */
    int[] inOrder() {
        int[] chosen = new int[channels];
        for (int channel = 0; channel < channels; channel++) {
            chosen[channel] = channel % found.channels();
        }
        return chosen;
    }

    /**
     * Assigns the channels so that as many as possible enter by their preferred device; the others stay in order.
     *
     * @param preferred for each channel a device number, or less than 0 for any device
     */
    int[] matching(int[] preferred) {
        int slots = Math.max(channels, found.channels());
        boolean[] taken = new boolean[slots];
        int[] chosen = new int[channels];
        Arrays.fill(chosen, UNKNOWN);
        for (int channel = 0; channel < channels; channel++) {
            if (in(channel) >= 0 && in(channel) == preferred[channel]) {
                take(chosen, taken, channel, channel);
            }
        }
        for (int channel = 0; channel < channels; channel++) {
            for (int slot = 0; slot < slots && chosen[channel] == UNKNOWN && preferred[channel] >= 0; slot++) {
                if (!taken[slot] && in(slot) == preferred[channel]) {
                    take(chosen, taken, channel, slot);
                }
            }
        }
        for (int channel = 0; channel < channels; channel++) {
            if (chosen[channel] == UNKNOWN && !taken[channel]) {
                take(chosen, taken, channel, channel);
            }
        }
        for (int channel = 0; channel < channels; channel++) {
            for (int slot = 0; slot < slots && chosen[channel] == UNKNOWN; slot++) {
                if (!taken[slot]) {
                    take(chosen, taken, channel, slot);
                }
            }
        }
        return chosen;
    }

    private void take(int[] chosen, boolean[] taken, int channel, int slot) {
        taken[slot] = true;
        chosen[channel] = slot % found.channels();
    }

    /** Returns the devices by which the chosen channels enter; less than 0 if unknown. */
    int[] ins(int[] chosen) {
        int[] ins = new int[chosen.length];
        for (int i = 0; i < chosen.length; i++) {
            ins[i] = in(chosen[i]);
        }
        return ins;
    }

    /** Returns the devices by which the chosen channels leave; less than 0 if unknown. */
    int[] outs(int[] chosen) {
        int[] outs = new int[chosen.length];
        for (int i = 0; i < chosen.length; i++) {
            outs[i] = found.rails().isEmpty()
                    ? UNKNOWN
                    : found.rails().get(chosen[i] % found.channels()).out();
        }
        return outs;
    }

    private int in(int slot) {
        return found.rails().isEmpty()
                ? UNKNOWN
                : found.rails().get(slot % found.channels()).in();
    }
}
