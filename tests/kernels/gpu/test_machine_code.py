"""Does tests/gpu/machine_code.py count what it says? test_machine_code.py ROOT"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tests/gpu"))
import machine_code as m

# A loop of 7 instructions with 2 HMMA, of which a branch leaves out 2; around it a longer one; and behind it one without HMMA.
TEXT = """
	.section	.text._ZN2sl6kernelE,"ax",@progbits
.L_x_0:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   HMMA.16816.F32 R4, R8, R10, R4 ;
        /*0020*/              @!P0 BRA `(.L_x_2) ;
        /*0030*/                   FSEL R4, R4, R5, P1 ;
        /*0040*/                   FSEL R5, R4, R5, P1 ;
.L_x_2:
        /*0050*/                   HMMA.16816.F32 R4, R8, R10, R4 ;
        /*0060*/                   IADD3 R6, R6, 0x40, RZ ;
        /*0070*/               @P2 BRA `(.L_x_1) ;
        /*0080*/               @P3 BRA `(.L_x_0) ;
.L_x_3:
        /*0090*/                   IADD3 R6, R6, 0x40, RZ ;
        /*00a0*/              BRA.U UP0, `(.L_x_3) ;
        /*00b0*/                   EXIT ;
	.section	.nv.info._ZN2sl6kernelE,"",@"SHT_CUDA_INFO"
	//----- nvinfo : EIATTR_MAX_THREADS
	.align		4
        /*00e0*/ 	.byte	0x04, 0x05
        /*00e8*/ 	.word	0x00000080
"""
SAID = """ptxas info    : Compiling entry function '_ZN2sl6kernelE' for 'sm_90'
    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem
"""


def same(got, expected):
    assert got == expected, f"{got}, not {expected}"


def row(**more):
    return {"kernel": "mma_keys_kernel<bf16, 64, lean>", "arch": "sm_80", "threads": 128, "registers": 168, "shared_bytes": 56320,
            "spilled_bytes": 0, "touched": [], "tile_hmma": 64, "tile_instructions": 211, "blocks_per_sm": 2} | more


same(m.loops(m.functions(TEXT)["_ZN2sl6kernelE"]), [(2, 5)])
same(m.bounds(TEXT), {"_ZN2sl6kernelE": 128})
same(m.resources(SAID), {"_ZN2sl6kernelE": [168, 8, 1024]})
same(m.plain_name("void sl::(anonymous namespace)::f<sl::bf16, (int)64, (sl::(anonymous namespace)::mma_form)1>(sl::bf16*, int)"),
     "f<bf16, 64, dropout>")
same(m.blocks_per_sm(row()), 2)  # 3 by registers, 2 by shared memory
same(m.blocks_per_sm(row(arch="sm_90")), 3)
halves = row()
m.per_tile(halves)
same((halves["tile_hmma"], halves["tile_instructions"]), (128, 422))
same(list(m.misses([row()])), [])
GROUP = """/*0010*/                   F2FP.BF16.F32.PACK_AB R24, R5, R4 ;
        /*0020*/                   WARPGROUP.ARRIVE ;
        /*0030*/                   HGMMA.64x64x16.F32.BF16 R56, R24, gdesc[UR8].tnspB, R56, gsb0 ;
        /*0040*/                   {} ;
        /*0050*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0060*/                   FMUL R56, R56, R2 ;
        /*0070*/                   MOV R27, R1 ;""".splitlines()


def between(instruction):
    text = "\t.section\t.text.k,\"ax\"\n        " + "\n".join(GROUP).format(instruction)
    return m.touched(m.functions(text)["k"])


same(between("FADD R23, R56, R24"), [])
for wrong in ("FADD R27, R1, R2", "IMAD.WIDE R86, R1, 0x4, R2", "@!P0 LDS.128 R52, [R3]", "ISETP.LT.AND P0, PT, R1, R2, PT"):
    same(bool(between(wrong)), wrong.startswith(("FADD", "IMAD")))
same(bool(between("@!P0 LDS.128 R56, [R3]")), True)
same(len(list(m.misses([row(touched=["FADD R27, R1, R2"])]))), 1)
same(len(list(m.misses([row(spilled_bytes=4, tile_instructions=900, blocks_per_sm=1)]))), 3)
same(len(list(m.misses([row(tile_instructions=0)]))), 1)  # a loop that is not found is no good news
same(list(m.misses([row(kernel="mma_keys_kernel<bf16, 64, general>", tile_instructions=900)])), [])
