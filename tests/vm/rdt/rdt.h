/* Resource director technology and frequencies of qemu's emulated CPU; rdt.c says what of them there is. */
#ifndef I386_RDT_H
#define I386_RDT_H

/* Changes what qemu's own CPU answers to CPUID. */
void rdt_cpuid(CPUX86State *env, uint32_t leaf, uint32_t subleaf,
               uint32_t *eax, uint32_t *ebx, uint32_t *ecx, uint32_t *edx);

/* False: the register is not one of these, and qemu's own CPU serves it. */
bool rdt_read_msr(CPUX86State *env, uint32_t number, uint64_t *value);
bool rdt_write_msr(CPUX86State *env, uint32_t number, uint64_t value);

#endif
