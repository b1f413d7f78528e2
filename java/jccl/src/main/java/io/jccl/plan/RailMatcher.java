package io.jccl.plan;

import io.jccl.search.ChannelGraph;
import java.util.Arrays;

/**
 * Says which of a host's channels carries which channel of the plan, so that data that left another host by one rail
 * comes in by the same one where there is such a device.
 *
 * <p>A host with fewer channels than the plan takes each about equally often; one with more leaves some out.
 */
final class RailMatcher {

    private static final int UNKNOWN = -1;

    private final ChannelGraph found;
    private final int channels;

    /**
     * The choice for one host.
     *
     * @param found what was found there
     * @param channels how many channels need one of these
     */
    RailMatcher(ChannelGraph found, int channels) {
        this.found = found;
        this.channels = channels;
    }

    /** The choice where no device is preferred. */
    int[] inOrder() {
        int[] chosen = new int[channels];
        for (int channel = 0; channel < channels; channel++) {
            chosen[channel] = channel % found.channels();
        }
        return chosen;
    }

    /**
     * The choice that comes in by as many of the preferred devices as possible, and else stays in order.
     *
     * @param preferred per channel a device number, or less than 0 for any
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

    /** The devices that chosen channels come in by; less than 0 where none is known. */
    int[] ins(int[] chosen) {
        int[] ins = new int[chosen.length];
        for (int i = 0; i < chosen.length; i++) {
            ins[i] = in(chosen[i]);
        }
        return ins;
    }

    /** The devices that chosen channels leave by; less than 0 where none is known. */
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
