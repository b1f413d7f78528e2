package io.jccl.topology;

import java.util.Arrays;
import java.util.List;

/**
 * Recognises PCI switches of one chip that shows up as several: a head with parts below it. The chip carries as much
 * between its parts as inside them, so they count as one switch.
 */
final class SplitSwitches {

    /**
     * Chips that show up as several switches in their base mode, one row each. The first hexadecimal digit of the
     * subsystem's device id is the role, head or part. NCCL 2.30 recognises the chips by the same ids.
     */
    private enum Chip {
        /** Broadcom PEX88000, PCI 4. */
        PEX88000(0x1000, 0xc010, 0x1000, 0xa, 0xa),
        /** Broadcom PEX89000, PCI 5. */
        PEX89000(0x1000, 0xc030, 0x1000, 0x0, 0x1);

        private static final int ROLE_BITS = 12;

        private final List<Integer> ids;
        private final int head;
        private final int part;

        Chip(int vendor, int device, int subsystemVendor, int head, int part) {
            this.ids = List.of(vendor, device, subsystemVendor);
            this.head = head;
            this.part = part;
        }

        private boolean is(XmlElement pci, int role) {
            return ids.equals(List.of(id(pci, "vendor"), id(pci, "device"), id(pci, "subsystem_vendor")))
                    && id(pci, "subsystem_device") >> ROLE_BITS == role;
        }

        private static int id(XmlElement pci, String attribute) {
            return (int) pci.hex(attribute, -1);
        }
    }

    private SplitSwitches() {}

    /**
     * Returns true if a PCI device is a part of the switch above it. Only a direct child of a head can be a part: a
     * device below a part may be the head of another chip.
     */
    static boolean isPart(XmlElement head, XmlElement part) {
        return part.type() == ElementType.PCI
                && Arrays.stream(Chip.values()).anyMatch(chip -> chip.is(head, chip.head) && chip.is(part, chip.part));
    }
}
